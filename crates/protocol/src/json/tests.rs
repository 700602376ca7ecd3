//! Valid and invalid JSON.

use super::*;

/// Writes a value without unnecessary blanks and escapes.
fn again(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(digits) => digits.to_owned(),
        Value::String(text) => quoted(&text.decode()),
        Value::Array(array) => {
            let values = array.values().map(again).collect::<Vec<_>>();
            format!("[{}]", values.join(","))
        }
        Value::Object(object) => {
            let one = |(name, value): (Text<'_>, _)| {
                format!("{}:{}", quoted(&name.decode()), again(value))
            };
            let members = object.members().map(one).collect::<Vec<_>>();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    append_string(text, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn documents_are_read() {
    for (document, expected) in [
        ("null", "null"),
        (" \t\r\n{ } \n", "{}"),
        ("[ ]", "[]"),
        ("[1 , -0,2.50,3e+7,4E-1, 0]", "[1,-0,2.50,3e+7,4E-1,0]"),
        (
            r#"{"a" : [true,{"b":false}] , "a":null}"#,
            r#"{"a":[true,{"b":false}],"a":null}"#,
        ),
        (r#""""#, r#""""#),
        (
            r#""\"\\\/\b\f\n\r\t\u0041\u00e9""#,
            "\"\\\"\\\\/\\u0008\\u000c\\n\\r\\tA\u{e9}\"",
        ),
        (r#""\uD83D\ude00""#, "\"\u{1f600}\""),
        (r#""\ud83d""#, "\"\u{fffd}\""),
        (r#""\ude00\ud83d\u0041""#, "\"\u{fffd}\u{fffd}A\""),
        (r#""\ud83d\ud83d\ude00""#, "\"\u{fffd}\u{1f600}\""),
        (
            "\"\u{7f}\u{e9}\u{1f600}\u{2028}\"",
            "\"\u{7f}\u{e9}\u{1f600}\u{2028}\"",
        ),
        (r#"["[\"]","{}"]"#, r#"["[\"]","{}"]"#),
    ] {
        let value = parse(document.as_bytes()).unwrap_or_else(|| panic!("{document}"));
        assert_eq!(again(value), expected, "{document}");
        assert_eq!(
            parse(expected.as_bytes()).map(again).as_deref(),
            Some(expected)
        );
    }
}

#[test]
fn invalid_documents_are_refused() {
    for document in [
        "",
        " ",
        "nul",
        "nulll",
        "True",
        "{",
        "}",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\" 1}",
        "{,}",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "01",
        "-",
        "+1",
        ".5",
        "1.",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "--1",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u+123\"",
        "\"\n\"",
        "\"\t\"",
        "\"\0\"",
        "\"a\" b",
        "\u{feff}{}",
        "{}\0",
        "[]]",
        "/**/1",
        "\u{a0}1",
        "\"\\\u{e9}\"",
        "\"\\u00\u{e9}\"",
    ] {
        assert!(parse(document.as_bytes()).is_none(), "{document:?}");
    }
    assert!(parse(b"\"\xff\"").is_none(), "no UTF-8");
    assert!(
        parse(b"\"\xed\xa0\x80\"").is_none(),
        "an unpaired surrogate"
    );
}

#[test]
fn nesting_is_bounded() {
    let nested =
        |depth: usize, open: &str, close: &str| open.repeat(depth) + "1" + &close.repeat(depth);
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let each = open.matches(['[', '{']).count();
        assert!(parse(nested(32 / each, open, close).as_bytes()).is_some());
        assert!(parse(nested(32 / each + 1, open, close).as_bytes()).is_none());
        assert!(parse(nested(100_000, open, close).as_bytes()).is_none());
        assert!(parse(open.repeat(1_000_000).as_bytes()).is_none());
    }
}

#[test]
fn integers_are_exact() {
    let integer = |digits: &str| parse(digits.as_bytes()).unwrap().integer();
    for value in [0, -1, 9_007_199_254_740_993, i64::MAX, i64::MIN] {
        assert_eq!(integer(&value.to_string()), Some(value));
    }
    assert_eq!(integer("-0"), Some(0));
    for digits in [
        "1.0",
        "1e3",
        "9223372036854775808",
        "-9223372036854775809",
        "\"1\"",
        "true",
        "[]",
    ] {
        assert_eq!(integer(digits), None, "{digits}");
    }
}

#[test]
fn names_are_compared_after_decoding_escapes() {
    let Some(Value::String(name)) = parse(br#""\u0075r\u006C""#) else {
        panic!("a string");
    };
    assert!(name == *"url" && name != *"urk" && name != *"");
    let long = format!("\"{}\"", "x".repeat(100));
    let Some(Value::String(name)) = parse(long.as_bytes()) else {
        panic!("a string");
    };
    assert!(name != *"url");
}

#[test]
fn unpaired_surrogates_can_be_refused() {
    let paired = |document: &str| {
        let Some(Value::String(text)) = parse(document.as_bytes()) else {
            panic!("a string");
        };
        text.decode_paired().map(Cow::into_owned)
    };
    for (document, expected) in [
        (r#""plain""#, Some("plain")),
        (r#""\ud83d\ude00\n""#, Some("\u{1f600}\n")),
        (r#""\ufffd\uFFFD""#, Some("\u{fffd}\u{fffd}")),
        ("\"\u{fffd}\\u0041\"", Some("\u{fffd}A")),
        (r#""\ud83d""#, None),
        (r#""\ude00""#, None),
        (r#""\ud83d\ud83d\ude00""#, None),
        (r#""a\ufffd\ud83dufffd""#, None),
    ] {
        assert_eq!(paired(document).as_deref(), expected, "{document}");
    }
}

#[test]
fn members_are_known_as_they_are_written() {
    let Some(Value::Object(object)) = parse(br#"{ "a" : [1, {"b":2}] ,"c":"\u0041" , "d":-1e3}"#)
    else {
        panic!("an object");
    };
    let written: Vec<_> = object.written_members().map(|(_, _, text)| text).collect();
    assert_eq!(written, [r#"[1, {"b":2}]"#, r#""\u0041""#, "-1e3"]);
}
