# SPDX-License-Identifier: LGPL-2.1-or-later
# Writes nsrun-hosts(7), which is made of the rows of causes.c and degraded.c, in this order, and of nothing
# else.  POSIX awk; -v date=…

function mdoc(text) {
        gsub(/\\"/, "\"", text)
        gsub(/\\/, "\\e", text)
        gsub(/-/, "\\-", text)
        return text ~ /^[.']/ ? "\\&" text : text
}

# Lines of a width that people can read in the source, too.
function say(text,    words, n, i, line) {
        n = split(mdoc(text), words, " ")
        for (i = 1; i <= n; i++) {
                if (length(line) + length(words[i]) > 100) {
                        print line
                        line = ""
                }
                line = line (line == "" ? "" : " ") words[i]
        }
        print line
}

function end_row() {
        if (!("when" in row))
                return
        print ".It Xo"
        say("name" in row ? row["name"] : row["what"])
        print ".Xc"
        say(row["when"])
        if ("name" in row)
                say("The note says: " row["lack"] ": " row["instead"] ".")
        print ".br"
        say("Mended by: " row["fix"])
        for (field in row)
                delete row[field]
}

BEGIN {
        print ".\\\" SPDX-License-Identifier: LGPL-2.1-or-later"
        print ".\\\" Made of src/base/causes.c and src/base/degraded.c."
        print ".Dd " date
        print ".Dt NSRUN-HOSTS 7"
        print ".Os"
        print ".Sh NAME"
        print ".Nm nsrun-hosts"
        print ".Nd what nsrun is refused by a host, and what mends it"
        print ".Sh DESCRIPTION"
        print "Each refusal of"
        print ".Xr nsrun 1"
        print "of which the host is the cause, and not what was asked for:"
        print "its words, how it is told from the others, and what mends it."
        print "The refusal itself has the path and the kernel's error, too, and after it a line says"
        print ".Dl nsrun: see nsrun doctor"
        print "which tries everything that a run needs of the host, and says of each the same words."
        print "What depends on more than the cause, as the way to a cgroup, the refusal and doctor say for the host"
        print "at hand."
        print ".Bl -tag -width Ds"
}

/^const struct cause causes/ { is_table = 1 }
/^const struct degraded degraded/ {
        is_table = 1
        print ".El"
        print ".Sh WHAT IS HAD IN A LESSER WAY"
        print "What a host denies that a run goes on without, by the name that it has in"
        print ".Dq degraded"
        print "of"
        print ".Cm nsrun plan --format=json ,"
        print "of"
        print ".Fl -status-fd ,"
        print "of"
        print ".Cm nsrun bash --json ,"
        print "of"
        print ".Cm nsrun session show --json"
        print "and of the library."
        print "With"
        print ".Fl -strict"
        print "each is a refusal instead, in the words before the colon."
        print "What protects and isn\\(aqt in this list is never left out: without it no command starts."
        print ".Bl -tag -width Ds"
}
is_table && /^};/ { end_row(); is_table = 0 }
is_table && /\[(CAUSE|DEGRADED)_[A-Z_]*\]/ { end_row() }
is_table && match($0, /^ *\.[a-z]+ =( |$)/) {
        field = $1
        sub(/^\./, "", field)
        sub(/^ *\.[a-z]+ = ?/, "")
}
is_table && /^ *FILTER_HINT\("[a-z0-9_ ]*"\)( "[^"]*")?,$/ {
        sub(/^ *FILTER_HINT\("/, "")
        call = more = $0
        sub(/".*/, "", call)
        sub(/^[^)]*\) ?"?/, "", more)
        sub(/"?,$/, "", more)
        row[field] = "a seccomp filter, as containers and services have one, refuses " call ": start the container with a " \
                "profile that allows it (docker, podman: --security-opt seccomp=unconfined; Kubernetes: a " \
                "seccompProfile of type Unconfined), or the service with it in SystemCallFilter=" more
        next
}
is_table && /^ *".*",?$/ {
        sub(/^ *"/, "")
        sub(/",?$/, "")
        row[field] = row[field] $0
}

END {
        print ".El"
        print ".Sh SEE ALSO"
        print ".Xr nsrun 1 ,"
        print ".Xr nsrun-bwrap 1"
}
