//! Tests how readers read options, and their errors about wrong ones.

use super::*;

fn said(error: &ListenError) -> String {
    assert_eq!(error.code(), "ERR_MILLRACE_INVALID_OPTION");
    error.to_string()
}

#[test]
fn each_kind_is_read_and_a_missing_option_is_none() {
    let options = Options::new()
        .flag("flag", true)
        .number("number", 3)
        .text("text", "x")
        .bytes("bytes", [1, 2])
        .list("list", ["a", "b"])
        .list("users", [Options::new().text("name", "ann")]);
    let reader = options.reader();
    assert_eq!(reader.flag("flag").unwrap(), Some(true));
    assert_eq!(reader.whole("number").unwrap(), Some(3));
    assert_eq!(reader.text("text").unwrap(), Some("x"));
    assert_eq!(reader.bytes("bytes").unwrap(), Some(&[1, 2][..]));
    let list = reader.texts("list").unwrap().unwrap();
    assert_eq!(list, ["a", "b"]);
    let names = reader.each("users", |user| user.text("name").map(Option::unwrap));
    assert_eq!(names.unwrap(), ["ann"]);
    reader.finish().unwrap();
    assert!(reader.flag("none").unwrap().is_none());
    assert!(reader.texts("none").unwrap().is_none());
    assert!(reader.each("none", |_| Ok(())).unwrap().is_empty());
}

#[test]
fn an_option_that_is_not_read_is_an_error_that_names_it() {
    let options = Options::new()
        .flag("known", true)
        .text("one", "secret")
        .text("two", "secret");
    let reader = options.reader();
    reader.flag("known").unwrap();
    let error = said(&reader.finish().unwrap_err());
    assert_eq!(error, "one, two is no option of this protocol");
    let users = Options::new().list("users", [Options::new().text("nick", "secret")]);
    let error = users.reader().each("users", |_| Ok(())).unwrap_err();
    assert_eq!(said(&error), "users[0].nick is no option of this protocol");
}

#[test]
fn an_option_of_another_kind_is_an_error_that_does_not_show_it() {
    let options = Options::new()
        .text("flag", "secret")
        .number("number", 1.5)
        .list("list", [1.0])
        .text("word", "secret");
    let reader = options.reader();
    let error = reader.flag("flag").unwrap_err();
    assert_eq!(said(&error), "flag must be true or false");
    let error = reader.whole("number").unwrap_err();
    assert_eq!(said(&error), "number must be a whole number");
    let error = reader.texts("list").unwrap_err();
    assert_eq!(said(&error), "list must be a list of texts");
    let error = reader.word("word", &[("a", 1), ("b", 2)]).unwrap_err();
    assert_eq!(said(&error), "word must be one of 'a', 'b'");
    reader.finish().unwrap();
}

#[test]
fn integers_are_accepted_if_javascript_represents_them_safely() {
    let whole = |number: f64| Options::new().number("n", number).reader().whole("n").ok();
    for number in [0_u32, 1, u32::MAX] {
        assert_eq!(whole(number.into()), Some(Some(number.into())));
    }
    assert_eq!(whole(MOST_WHOLE), Some(Some(9_007_199_254_740_991)));
    for number in [-1.0, 0.5, 1e300, f64::NAN, f64::INFINITY] {
        assert_eq!(whole(number), None, "{number}");
    }
}

#[test]
fn debug_output_shows_no_values() {
    let options = Options::new().text("password", "secret").fields(
        "more",
        Options::new()
            .bytes("key", *b"secret")
            .list("list", ["secret"]),
    );
    assert!(!format!("{options:?}").contains("secret"));
    assert!(!format!("{:?}", Value::Text("secret".to_owned())).contains("secret"));
}
