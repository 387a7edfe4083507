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
                        print line
                        line = ""
                }
                line = line (line == "" ? "" : " ") words[i]
        }
        print line
}

# What is said of filters at length stands in the page once, under CONTAINERS.
function end_row(    field) {
        if (!("when" in row))
                return
        n_rows++
        sub(/start the container with a profile that allows them \([^)]*\)/, "allow them in the container's filter", \
            row["fix"])
        for (field in row) {
                rows[n_rows, field] = row[field]
                delete row[field]
        }
        rows[n_rows, "table"] = table
        title[n_rows] = table == "causes" ? rows[n_rows, "what"] : rows[n_rows, "name"]
        times[title[n_rows]]++
}

# Rows of the same words are one item, and said is how they are told apart.
function write_rows(which,    i) {
        for (i = 1; i <= n_rows; i++) {
                if (rows[i, "table"] != which)
                        continue
                if (i > 1 && title[i] == title[i - 1])
                        print ".Pp"
                else {
                        print ".It Xo"
                        say(title[i])
                        print ".Xc"
                }
                if (which == "degraded" || times[title[i]] > 1) {
                        say(rows[i, "when"])
                        if (which == "degraded")
                                say("Note: " rows[i, "lack"] ": " rows[i, "instead"] ".")
                        print ".br"
                }
                say("Fix: " rows[i, "fix"])
        }
}

# The arguments of a row, strings side by side as one; a filter's hint stands for more (error.h).
function take_row(text, names,    name, n, part) {
        split(names, name, " ")
        for (n = 1; text != ""; text = substr(text, length(part) + 1)) {
                if (match(text, /^"([^"\\]|\\.)*"/))
                        row[name[n]] = row[name[n]] substr(text, 2, RLENGTH - 2)
                else if (match(text, /^FILTER_HINT\("[^"]*"\)/))
                        row[name[n]] = "allow " substr(text, 14, RLENGTH - 15) " in the container's filter"
                else {
                        match(text, /^./)
                        n += text ~ /^,/
                }
                part = substr(text, 1, RLENGTH)
        }
        end_row()
}

match($0, /^ *(CAUSE|LESSER)\(/) {
        table = $0 ~ /CAUSE/ ? "causes" : "degraded"
        text = ""
        $0 = substr($0, RLENGTH + 1)
}
table {
        sub(/^ */, "")
        text = text " " $0
}
table && /\),$/ {
        take_row(text, table == "causes" ? "id stage when what fix test" : "id name when lack instead fix test")
        table = ""
}
/^\.\\" (causes|degraded)$/ { write_rows($2); next }
FILENAME ~ /\.in$/
