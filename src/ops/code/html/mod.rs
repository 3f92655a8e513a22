//! HTML as Beautiful Soup reads it with Python's own `html.parser`.

mod entities;
mod parser;
mod tags;
mod tree;

/// The text that a reader would see: no tags, comments, declarations, scripts and style sheets; references decoded.
pub(super) fn visible_text(text: &str) -> String {
    parser::visible_text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    // As Beautiful Soup 4.15 gives it with Python 3.11.7.
    #[test]
    fn tolerates_what_html_parser_tolerates() {
        for (html, expected) in [
            ("<p>a</p> \n <p>b</p>", "a\nb"),
            ("<pre> \n </pre>", " \n "),
            ("a<br>b</br>c", "abc"),
            ("<script>x</script>y<style>z", "y"),
            ("<script>a</b></SCRIPT >b", "b"),
            ("a < b & c", "a < b & c"),
            ("&amp;&copy;&nosuch;&copy", "&©&nosuch&copy"),
            ("&#65;&#x42;&#128;&#0;", "AB€\u{fffd}"),
            ("&#65a;x", "&#65a;x"),
            ("<![CDATA[a<b]]>c", "a<bc"),
            ("<![if x]>a<![endif]>", "a"),
            ("<!-- a -- >b", "b"),
            ("<!-- a", "<!-- a"),
            ("<!DOCTYPE html>a", "a"),
            ("<?php x ?>y", "y"),
            ("<a href='>'>x", "x"),
            ("<a b='x>y", "<a b='x>y"),
            ("<a b==x/>y", "y"),
            ("</p>x</>y</1>z", "xyz"),
            ("<template>a<b>c</b></template>d", "d"),
            ("<ruby>x<rt>y</rt></ruby>", "x"),
            ("a <b", "a <b"),
            ("a <", "a <"),
            ("x &am", "x &am"),
            ("<p title=\"a\">b<i>c</p>d</i>", "bcd"),
            ("<a\0b>x", "<a\0b>x"),
        ] {
            assert_eq!(visible_text(html), expected, "{html:?}");
        }
    }

    #[test]
    fn unclosed_markup_takes_linear_time() {
        for piece in ["<a ", "<!-- ", "<![CDATA[", "<![if ", "&#", "&a", "<script>", "</ ", "<a b='", "<i>", "</i>"] {
            visible_text(&piece.repeat(1 << 16));
        }
    }
}
