# SPDX-License-Identifier: LGPL-2.1-or-later
# HTML of plain text as README has it: titles that are underlined, paragraphs, and blocks that are indented.
# -v first=TEXT leaves the first title out, which the page has already.  POSIX awk.

function escape(text) {
        gsub(/&/, "\\&amp;", text)
        gsub(/</, "\\&lt;", text)
        gsub(/>/, "\\&gt;", text)
        return text
}

# "nsrun-run(1)" leads to its page.
function linked(text,    out, name) {
        while (match(text, /(lib)?nsrun[a-z.-]*\([13577]\)/)) {
                name = substr(text, RSTART, RLENGTH)
                sub(/\(/, ".", name)
                sub(/\)/, "", name)
                out = out substr(text, 1, RSTART - 1) "<a href=\"" name ".html\">" substr(text, RSTART, RLENGTH) "</a>"
                text = substr(text, RSTART + RLENGTH)
        }
        return out text
}

# What stands between two `.
function coded(text,    n, parts, i, out) {
        n = split(text, parts, "`")
        for (i = 1; i <= n; i++)
                out = out (i % 2 == 0 && i < n ? "<code>" parts[i] "</code>" : (i % 2 == 0 ? "`" : "") parts[i])
        return out
}

function identifier(text) {
        gsub(/[^A-Za-z0-9]+/, "_", text)
        return text
}

function flush() {
        if (kind == "p")
                print "<p>" coded(linked(escape(held))) "</p>"
        else if (kind == "pre") {
                sub(/\n+$/, "", held)
                print "<pre>" linked(escape(held)) "</pre>"
        }
        kind = held = ""
}

/^SPDX-License-Identifier/ { next }
/^(===+|---+)$/ {
        title = held
        kind = held = ""
        if ($0 ~ /^=/)
                print "<h1>" escape(title) "</h1>"
        else
                print "<h2 id=\"" identifier(title) "\">" escape(title) "</h2>"
        next
}
/^    / {
        if (kind != "pre")
                flush()
        kind = "pre"
        held = held substr($0, 5) "\n"
        next
}
/^$/ {
        if (kind == "pre")
                held = held "\n"
        else
                flush()
        next
}
{
        if (kind == "pre")
                flush()
        held = held (kind == "p" ? " " : "") $0
        kind = "p"
}
END { flush() }
