/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builds with a warm cache: npm's and Maven's, each run twice in the sandbox with the
 * caches that a build on the host has filled, and which are afterwards what they were,
 * to the last byte and time. */
#include "harness.h"

/* `build` prints `expected` and writes to the cache; twice inside, and then on the host. */
static void build_twice(const struct site *s, const char *cache, const char *build, const char *expected) {
        _cleanup_outcome_ struct outcome o = {0};
        char *before = snapshot(cache);

        for (int i = 0; i < 2; i++) {
                run_inside(s, &o, build);
                expect_status(&o, 0);
                expect_out(&o, expected);
                expect_unchanged(cache, before);
                before = snapshot(cache);
        }
        /* The control: it is the sandbox that keeps the cache, not the build. */
        run_outside(s, &o, build);
        expect_status(&o, 0);
        expect_out(&o, expected);
        {
                _cleanup_free_ char *after = snapshot(cache);

                assert_false(streq(before, after));
        }
        free(before);
}

TEST(npm_builds_twice_from_a_warm_cache) {
        /* What is published under a version never changes. */
        static const char package[] =
                "{\"name\": \"user\", \"version\": \"1.0.0\", \"private\": true,\n"
                " \"scripts\": {\"build\": \"uglifyjs source.js --mangle --toplevel -o made.js\"},\n"
                " \"devDependencies\": {\"uglify-js\": \"3.19.3\"}, \"dependencies\": {\"left-pad\": \"1.3.0\"}}\n";
        static const char warm[] = "npm install --silent --no-audit --no-fund";
        static const char build[] =
                "rm -rf node_modules made.js && npm ci --silent --prefer-offline --no-audit --no-fund && "
                "npm run --silent build && node made.js";
        const struct site *s = *state;
        _cleanup_free_ char *cache = path_of(s->home, ".npm");
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("npm"))
                skip_because("skipped: npm is not installed");
        run_outside(s, &o, "npm view left-pad@1.3.0 version");
        if (o.status != 0)
                skip_because("skipped: npm's registry can't be reached");
        make_file(s->project, "package.json", package);
        make_file(s->project, "source.js",
                  "const longName = require('left-pad');\nconsole.log(longName('made', 6, '-'));\n");
        run_outside(s, &o, warm);
        expect_status(&o, 0);
        build_twice(s, cache, build, "--made\n");
}

/* Plugins in whichever releases the distribution has, from its repository of files as
 * if that were the central one.  $1: what stands in <dependencies>. */
static const char make_pom[] =
        "repo=/usr/share/maven-repo\n"
        "newest() { ls \"$repo/$1\" | grep '^[0-9]' | sort -V | tail -n 1; }\n"
        "plugin() {\n"
        "  echo \"<plugin><artifactId>maven-$1-plugin</artifactId>\"\n"
        "  echo \"<version>$(newest org/apache/maven/plugins/maven-$1-plugin)</version></plugin>\"\n"
        "}\n"
        "pom() {\n"
        "  echo '<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>'\n"
        "  echo '<artifactId>hello</artifactId><version>1</version><properties>'\n"
        "  echo '<maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>'\n"
        "  echo '<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>'\n"
        "  echo \"<repositories><repository><id>central</id><url>file://$repo</url></repository></repositories>\"\n"
        "  echo \"<pluginRepositories><pluginRepository><id>central</id><url>file://$repo</url>\"\n"
        "  echo \"</pluginRepository></pluginRepositories><dependencies>$1</dependencies><build><plugins>\"\n"
        "  plugin resources; plugin compiler; plugin jar\n"
        /* There is nothing to test, and the plugin would be fetched all the same. */
        "  echo '<plugin><artifactId>maven-surefire-plugin</artifactId><version>3</version><executions><execution>'\n"
        "  echo '<id>default-test</id><phase>none</phase></execution></executions></plugin>'\n"
        "  echo '</plugins></build></project>'\n"
        "}\n"
        "pom '' >pom.xml\n"
        "pom \"<dependency><groupId>commons-cli</groupId><artifactId>commons-cli</artifactId>"
        "<version>$(newest commons-cli/commons-cli)</version></dependency>\" >more.xml\n";

/* A JVM knows its home from passwd, and the host's is not the test's. */
#define USE_HOME "export MAVEN_OPTS=\"-Duser.home=$HOME\"\n"

/* As an ordinary user, once: it is minutes of a JVM's work. */
TEST_IF(!takes_samples(), maven_builds_twice_from_a_warm_cache, site_setup, site_teardown) {
        static const char build[] =
                /* With what the cache has, and with something that it hasn't. */
                USE_HOME "build() { mvn -B -q \"$@\" package >log </dev/null || { cat log; exit 1; }; }\n"
                         "rm -rf target; build -o; java -cp target/hello-1.jar Hello; "
                         "build -f more.xml; ls ~/.m2/repository/commons-cli";
        const struct site *s = *state;
        _cleanup_free_ char *cache = path_of(s->home, ".m2/repository");
        _cleanup_free_ char *warm = text_of("%s%s", make_pom, USE_HOME "mvn -B -q package");
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("mvn") || !has_program("javac") ||
            access("/usr/share/maven-repo/org/apache/maven/plugins/maven-jar-plugin", F_OK) < 0)
                skip_because("skipped: Maven, a JDK and Debian's Maven plugins are not installed");
        make_file(s->project, "src/main/java/Hello.java",
                  "public class Hello { public static void main(String[] a) { "
                  "System.out.println(\"made\"); } }\n");
        run_outside(s, &o, warm);
        expect_status(&o, 0);
        run_outside(s, &o, "ls ~/.m2/repository/commons-cli");
        assert_int_not_equal(o.status, 0);
        build_twice(s, cache, build, "made\ncommons-cli\n");
}

/* ---------------------------------------------------------------- settings */

/* The user's settings count inside as outside, and the project's before them. */
TEST(npm_obeys_the_users_registries_after_the_projects) {
        static const char ask[] =
                "npm config get registry; npm config get @own:registry; npm config get fund";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("npm"))
                skip_because("skipped: npm is not installed");
        make_file(s->project, "package.json", "{\"name\": \"x\"}\n");
        make_file(
                s->home, ".npmrc",
                "registry=https://user.example.org/\n@own:registry=https://own.example.org/\nfund=false ; no\n"
                "//user.example.org/:_authToken=planted\n");
        for (int i = 0; i < 2; i++) {
                const char *expected =
                        i == 0 ? "https://user.example.org/\nhttps://own.example.org/\nfalse\n"
                               : "https://project.example.org/\nhttps://own.example.org/\nfalse\n";

                run_inside(s, &o, ask);
                expect_out(&o, expected);
                run_outside(s, &o, ask);
                expect_out(&o, expected);
                make_file(s->project, ".npmrc", "registry=https://project.example.org/\n");
        }
        run_inside(s, &o, "npm config set fund true && npm config get fund; grep -c planted ~/.npmrc");
        expect_out(&o, "true\n0\n");
        run_outside(s, &o, "grep -c planted ~/.npmrc");
        expect_out(&o, "1\n");
}

TEST(pip_obeys_the_users_index) {
        /* Without what the tester's variables say. */
        static const char ask[] = "v/bin/python -m pip config list | sed /^:env:/d";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "/usr/bin/python3 -m venv v");
        if (o.status != 0)
                skip_because("skipped: Python's venv is not installed");
        make_file(s->home, ".config/pip/pip.conf",
                  "[global]\nindex-url = https://user.example.org/simple\nproxy = http://u:planted@p/\n"
                  "[install]\nextra-index-url =\n    https://a.example.org/\n    https://b.example.org/\n");
        make_file(s->home, ".pip/pip.conf", "[global]\ntimeout = 7\nindex-url = https://old.example.org/\n");
        run_outside(s, &o, ask);
        expect_in(o.out, "planted");
        run_inside(s, &o, ask);
        expect_out(&o, "global.index-url='https://user.example.org/simple'\nglobal.timeout='7'\n"
                       "install.extra-index-url='https://a.example.org/ https://b.example.org/'\n");
        /* What the environment's owner says goes before. */
        make_file(s->project, "v/pip.conf", "[global]\nindex-url = https://venv.example.org/simple\n");
        run_inside(s, &o, "v/bin/python -m pip config get global.index-url");
        expect_out(&o, "https://venv.example.org/simple\n");
}

int main(void) {
        return run_all_tests();
}
