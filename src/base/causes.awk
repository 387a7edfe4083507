# SPDX-License-Identifier: LGPL-2.1-or-later
# Writes nsrun-hosts(7): the page, the last file, with the rows of causes.c and degraded.c in the place of its
# comments "causes" and "degraded".  POSIX awk.

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
                        rows[table] = rows[table] line "\n"
                        line = ""
                }
                line = line (line == "" ? "" : " ") words[i]
        }
        rows[table] = rows[table] line "\n"
}

# Rows of the same words are one item; what is said of filters at length stands in the page once, under CONTAINERS.
function end_row(    title) {
        if (!("when" in row))
                return
        title = "name" in row ? row["name"] : row["what"]
        if (title == last)
                rows[table] = rows[table] ".Pp\n"
        else {
                rows[table] = rows[table] ".It Xo\n"
                say(title)
                rows[table] = rows[table] ".Xc\n"
        }
        last = title
        say(row["when"])
        if ("name" in row)
                say("Note: " row["lack"] ": " row["instead"] ".")
        rows[table] = rows[table] ".br\n"
        sub(/start the container with a profile that allows them \([^)]*\)/, "allow them in the container's filter", \
            row["fix"])
        say("Fix: " row["fix"])
        for (field in row)
                delete row[field]
}

/^const struct cause causes/ { table = "causes" }
/^const struct degraded degraded/ { table = "degraded" }
table && /^};/ { end_row(); table = "" }
table && /\[(NSRUN_ERROR|DEGRADED)_[A-Z_]*\]/ { end_row() }
table && match($0, /^ *\.[a-z]+ =( |$)/) {
        field = $1
        sub(/^\./, "", field)
        sub(/^ *\.[a-z]+ = ?/, "")
}
table && /^ *FILTER_HINT\("[a-z0-9_, ]*"\)( "[^"]*")?,$/ {
        sub(/^ *FILTER_HINT\("/, "")
        call = more = $0
        sub(/".*/, "", call)
        sub(/^[^)]*\) ?"?/, "", more)
        sub(/"?,$/, "", more)
        row[field] = "allow " call " in the container's filter" more
        next
}
table && /^ *".*",?$/ {
        sub(/^ *"/, "")
        sub(/",?$/, "")
        row[field] = row[field] $0
}
/^\.\\" (causes|degraded)$/ { printf "%s", rows[$2]; next }
FILENAME ~ /\.in$/
