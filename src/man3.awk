# SPDX-License-Identifier: LGPL-2.1-or-later
# Writes the man pages of nsrun.h, which is all that they are made of, to `folder`: a page for each group of
# functions, and for each function a link to its group's page.  POSIX awk; -v folder=… -v date=…
#
# A group begins with a line that names its page and says in a few words what it is about:
#
#     /* -------- nsrun_plan: what will be done -------- */
#
# Before the first such line all is libnsrun(3)'s.  A comment documents the declarations that follow it without
# an empty line between them; a line of it that is indented by four more spaces is an example.

function begin_page(name, about) {
        page = name
        pages[++n_pages] = name
        abouts[name] = about
}

function escape(text) {
        gsub(/\\/, "\\e", text)
        gsub(/…/, "...", text)
        gsub(/-/, "\\-", text)
        return text
}

function say(line) {
        body[page] = body[page] line "\n"
}

# Consecutive functions are one list.
function say_list(is_wanted) {
        if (is_wanted && !in_list[page])
                say(".Bl -tag -width Ds")
        else if (!is_wanted && in_list[page])
                say(".El")
        in_list[page] = is_wanted
}

# A line of running text: names of functions are bold, and no line is taken for a request.
function prose(text,    out) {
        text = escape(text)
        gsub(/\\-/, "-", text)
        out = ""
        while (match(text, /[a-z_]+[a-z0-9_]*\(\)/)) {
                out = out substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART, RLENGTH - 2) "\\fP()"
                text = substr(text, RSTART + RLENGTH)
        }
        out = out text
        return out ~ /^[.']/ ? "\\&" out : out
}

# A paragraph, each sentence on lines of its own: two spaces end one, or one and a capital letter.
function say_paragraph(text,    sentences, words, n, m, i, j, line) {
        while (match(text, /[a-z)][.] [A-Z]/))
                text = substr(text, 1, RSTART + 1) " " substr(text, RSTART + 2)
        n = split(text, sentences, /  +/)
        for (i = 1; i <= n; i++) {
                m = split(sentences[i], words, " ")
                line = ""
                for (j = 1; j <= m; j++) {
                        if (length(line) + length(words[j]) > 76) {
                                say(prose(line))
                                line = ""
                        }
                        line = line (line == "" ? "" : " ") words[j]
                }
                if (line != "")
                        say(prose(line))
        }
}

# What follows the asterisks of one comment: paragraphs and examples.
function say_comment(    i, line, text, is_first) {
        is_first = 1
        for (i = 1; i <= n_comment; i++) {
                line = comment[i]
                if (line ~ /^    /) {
                        say(".Bd -literal -offset indent")
                        # Empty lines belong to the example if it goes on after them.
                        for (; i <= n_comment && (comment[i] ~ /^    / || comment[i + 1] ~ /^    /); i++) {
                                line = escape(substr(comment[i], 5))
                                say(line ~ /^[.']/ ? "\\&" line : line)
                        }
                        i--
                        say(".Ed")
                        is_first = 0
                } else if (line != "") {
                        text = line
                        for (; i < n_comment && comment[i + 1] != "" && comment[i + 1] !~ /^    /; i++)
                                text = text (text ~ /[.:?!]$/ && comment[i + 1] ~ /^[A-Z`_-]/ ? "  " : " ") comment[i + 1]
                        if (!is_first)
                                say(".Pp")
                        say_paragraph(text)
                        is_first = 0
                }
        }
}

function say_code(    i) {
        say(".Bd -literal")
        for (i = 1; i <= n_code; i++) {
                gsub(/\t/, "        ", code[i])
                say(code[i] ~ /^[.']/ ? "\\&" escape(code[i]) : escape(code[i]))
        }
        say(".Ed")
}

# "int nsrun_x(struct y *a, int b);" as mdoc(7) has it.
function add_prototype(text,    name, type, arguments, n, i, list) {
        match(text, /nsrun_[a-z0-9_]+\(/)
        name = substr(text, RSTART, RLENGTH - 1)
        type = substr(text, 1, RSTART - 1)
        arguments = substr(text, RSTART + RLENGTH)
        sub(/\);.*$/, "", arguments)
        sub(/ +$/, "", type)
        synopsis[page] = synopsis[page] ".Ft \"" type "\"\n.Fo " name "\n"
        n = split(arguments, list, /, */)
        for (i = 1; i <= n; i++)
                synopsis[page] = synopsis[page] ".Fa \"" list[i] "\"\n"
        synopsis[page] = synopsis[page] ".Fc\n"
        names[page] = names[page] (names[page] == "" ? "" : " ") name
        owner[name] = page
        return name
}

# A comment with what it documents, or either alone.
function end_unit(    i, text, line, heading, n_functions, has_types) {
        text = heading = ""
        n_functions = has_types = depth = 0
        for (i = 1; i <= n_code; i++) {
                text = text (text == "" ? "" : " ") code[i]
                line = code[i]
                sub(/\/\*.*/, "", line)
                depth += gsub(/\{/, "", line) - gsub(/\}/, "", line)
                if (depth > 0 || code[i] !~ /;$/)
                        continue
                gsub(/[ \t]+/, " ", text)
                if (text ~ /^[a-z][a-z0-9_ *]*nsrun_[a-z0-9_]+\(/)
                        heading = heading (n_functions++ ? " , " : "") "Fn " add_prototype(text)
                else if (text !~ /^struct nsrun_[a-z_]+;$/)
                        has_types = 1
                text = ""
        }
        # What is neither a function nor an opaque struct is shown as it is, and so is a macro.
        if (text != "")
                has_types = 1
        if (n_functions) {
                say_list(1)
                say(".It Xo")
                gsub(/Fn /, ".Fn ", heading)
                gsub(/ , /, " ,\n", heading)
                say(heading)
                say(".Xc")
                say_comment()
                if (has_types)
                        say_code()
        } else if (n_comment || has_types) {
                say_list(0)
                if (body[page] != "" && n_comment)
                        say(".Pp")
                say_comment()
                if (has_types)
                        say_code()
        }
        n_comment = n_code = 0
}

function add_comment_line(line) {
        sub(/^ \* ?/, "", line)
        comment[++n_comment] = line
}

BEGIN {
        begin_page("libnsrun", "start a command in a sandbox of raw Linux namespaces")
        # Up to the opening comment: the licence.
        state = "skip"
}

/^\/\* -+ [a-z_]+: .* -+ \*\/$/ {
        end_unit()
        line = $0
        sub(/^\/\* -+ /, "", line)
        sub(/ -+ \*\/$/, "", line)
        begin_page(substr(line, 1, index(line, ":") - 1), substr(line, index(line, ":") + 2))
        state = "code"
        next
}

/^\/\* clang-format o(n|ff) \*\/$/ { next }

/SPDX-License-Identifier/ {
        state = "code"
        next
}

# The guard, other headers, and what C++ needs.
/^#(ifndef|include|ifdef|endif)/ || /^#define NSRUN_H$/ || /^extern "C"/ || /^}$/ {
        end_unit()
        next
}

state == "code" && /^\/\*/ {
        if (n_code)
                end_unit()
        line = $0
        sub(/^\/\* ?/, "", line)
        if (line ~ / *\*\/$/) {
                sub(/ *\*\/$/, "", line)
                comment[++n_comment] = line
        } else {
                comment[++n_comment] = line
                state = "comment"
        }
        next
}

state == "comment" {
        line = $0
        if (line ~ / *\*\/$/) {
                sub(/ *\*\/$/, "", line)
                state = "code"
                if (line ~ /^ *$/)
                        next
        }
        add_comment_line(line)
        next
}

/^$/ {
        # In the middle of a struct an empty line ends nothing.
        if (depth == 0)
                end_unit()
        next
}

{
        code[++n_code] = $0
        line = $0
        gsub(/\/\*.*/, "", line)
        depth += gsub(/\{/, "", line) - gsub(/\}/, "", line)
}

function write_page(name,    file, list, n, i) {
        file = folder "/" name ".3"
        n = split(names[name], list, " ")
        print ".\\\" SPDX-License-Identifier: LGPL-2.1-or-later" >file
        print ".\\\" Made from nsrun.h by src/man3.awk." >file
        print ".Dd " date >file
        print ".Dt " toupper(name) " 3" >file
        print ".Os" >file
        print ".Sh NAME" >file
        for (i = 1; i <= n; i++)
                print ".Nm " list[i] (i < n ? " ," : "") >file
        print ".Nd " escape(abouts[name]) >file
        print ".Sh SYNOPSIS" >file
        print ".In nsrun.h" >file
        printf "%s", synopsis[name] >file
        print ".Sh DESCRIPTION" >file
        page = name
        say_list(0)
        printf "%s", body[name] >file
        if (name != "libnsrun") {
                print ".Sh RETURN VALUES" >file
                print "Functions that return an" >file
                print ".Vt int" >file
                print "return 0 or a negative errno unless they say otherwise;" >file
                print ".Xr libnsrun 3" >file
                print "has what holds for all of them." >file
        }
        print ".Sh SEE ALSO" >file
        printf ".Xr nsrun 1" >file
        for (i = 1; i <= n_pages; i++)
                if (pages[i] != name)
                        printf " ,\n.Xr %s 3", pages[i] >file
        printf "\n" >file
        close(file)
        for (i = 1; i <= n; i++)
                if (list[i] != name) {
                        file = folder "/" list[i] ".3"
                        print ".so man3/" name ".3" >file
                        close(file)
                }
}

END {
        end_unit()
        # Sorted, for their lists of each other.
        for (i = 2; i <= n_pages; i++)
                for (j = i; j > 1 && pages[j] < pages[j - 1]; j--) {
                        line = pages[j]
                        pages[j] = pages[j - 1]
                        pages[j - 1] = line
                }
        for (i = 1; i <= n_pages; i++)
                write_page(pages[i])
}
