//! Conditional requests (RFC 9110, section 13): whether the file is sent, was not modified, or fails a precondition.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{
    HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
};
use http::{HeaderMap, HeaderValue};

/// The validators of a version of a file.
#[derive(Clone, Debug)]
pub(super) struct Validators {
    /// A strong entity tag.
    pub(super) etag: HeaderValue,
    /// `Last-Modified`, in whole seconds; `None` if it would be in the future or before 1970.
    pub(super) modified: Option<SystemTime>,
}

/// The result of a request's conditions.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Send the file.
    Send,
    /// Answer 304.
    NotModified,
    /// Answer 412.
    Failed,
}

/// Evaluates the conditions of a GET or HEAD.
pub(super) fn judge(headers: &HeaderMap, validators: &Validators) -> Verdict {
    if headers.contains_key(IF_MATCH) {
        if !lists(headers, &IF_MATCH, |tag| tag == validators.etag.as_bytes()) {
            return Verdict::Failed;
        }
    } else if let (Some(since), Some(modified)) =
        (date(headers, &IF_UNMODIFIED_SINCE), validators.modified)
        && modified > since
    {
        return Verdict::Failed;
    }
    if headers.contains_key(IF_NONE_MATCH) {
        let weak = |tag: &[u8]| validators.etag == tag.strip_prefix(b"W/").unwrap_or(tag);
        if lists(headers, &IF_NONE_MATCH, weak) {
            return Verdict::NotModified;
        }
    } else if let (Some(since), Some(modified)) =
        (date(headers, &IF_MODIFIED_SINCE), validators.modified)
        && modified <= since
    {
        return Verdict::NotModified;
    }
    Verdict::Send
}

/// Whether `Range` is honoured: not if `If-Range` names another version.
pub(super) fn allows_range(headers: &HeaderMap, validators: &Validators) -> bool {
    let mut values = headers.get_all(IF_RANGE).iter();
    let Some(value) = values.next() else {
        return true;
    };
    if values.next().is_some() {
        return false;
    }
    if value.as_bytes().starts_with(b"\"") {
        return *value == validators.etag;
    }
    validators.modified.is_some() && date(headers, &IF_RANGE) == validators.modified
}

/// The time as `Last-Modified` can express it.
pub(super) fn whole_seconds(time: SystemTime, now: SystemTime) -> Option<SystemTime> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    (time <= now).then(|| UNIX_EPOCH + Duration::from_secs(since.as_secs()))
}

/// Whether a list of entity tags contains `*` or one that `matches`.
fn lists(headers: &HeaderMap, name: &HeaderName, matches: impl Fn(&[u8]) -> bool) -> bool {
    headers.get_all(name).iter().any(|value| {
        let value = value.as_bytes().trim_ascii();
        value == b"*" || tags(value).any(&matches)
    })
}

/// The elements of a list of entity tags; a comma within quotes is part of the tag.
fn tags(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    list.split(move |&byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    })
    .map(<[u8]>::trim_ascii)
}

/// The date of a header that occurs once. A date that cannot be parsed is `None`: the header is then ignored.
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    httpdate::parse_http_date(value.to_str().ok()?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn validators() -> Validators {
        Validators {
            etag: HeaderValue::from_static("\"a,b\""),
            modified: Some(UNIX_EPOCH + Duration::from_secs(784_111_777)),
        }
    }

    fn headers(list: &[(HeaderName, &str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn conditions_have_an_order() {
        use Verdict::{Failed, NotModified, Send};
        let cases: [(&[(HeaderName, &str)], Verdict); 20] = [
            (&[], Send),
            (&[(IF_NONE_MATCH, "\"a,b\"")], NotModified),
            (&[(IF_NONE_MATCH, "W/\"a,b\"")], NotModified),
            (&[(IF_NONE_MATCH, "\"x\" ,, \"a,b\" ")], NotModified),
            (&[(IF_NONE_MATCH, "*")], NotModified),
            (&[(IF_NONE_MATCH, "\"a\", \"b\", a,b")], Send),
            (&[(IF_MODIFIED_SINCE, THEN)], NotModified),
            (&[(IF_MODIFIED_SINCE, AFTER)], NotModified),
            (&[(IF_MODIFIED_SINCE, BEFORE)], Send),
            (&[(IF_MODIFIED_SINCE, "yesterday")], Send),
            (
                &[(IF_NONE_MATCH, "\"x\""), (IF_MODIFIED_SINCE, AFTER)],
                Send,
            ),
            (&[(IF_MATCH, "\"a,b\"")], Send),
            (&[(IF_MATCH, "*")], Send),
            (&[(IF_MATCH, "W/\"a,b\"")], Failed),
            (&[(IF_MATCH, "\"x\"")], Failed),
            (
                &[(IF_MATCH, "\"a,b\""), (IF_UNMODIFIED_SINCE, BEFORE)],
                Send,
            ),
            (&[(IF_MATCH, "\"x\""), (IF_NONE_MATCH, "\"a,b\"")], Failed),
            (&[(IF_UNMODIFIED_SINCE, BEFORE)], Failed),
            (&[(IF_UNMODIFIED_SINCE, THEN)], Send),
            (&[(IF_UNMODIFIED_SINCE, "soon")], Send),
        ];
        for (list, verdict) in cases {
            assert_eq!(judge(&headers(list), &validators()), verdict, "{list:?}");
        }
    }

    #[test]
    fn a_range_of_another_version_is_ignored() {
        for (value, allowed) in [
            ("\"a,b\"", true),
            ("W/\"a,b\"", false),
            ("\"x\"", false),
            (THEN, true),
            (BEFORE, false),
            (AFTER, false),
            ("x", false),
        ] {
            let headers = headers(&[(IF_RANGE, value)]);
            assert_eq!(allows_range(&headers, &validators()), allowed, "{value}");
        }
        assert!(allows_range(&HeaderMap::new(), &validators()));
    }

    #[test]
    fn times_that_cannot_be_expressed_are_left_out() {
        let now = UNIX_EPOCH + Duration::from_millis(5_500);
        assert_eq!(
            whole_seconds(now, now),
            Some(UNIX_EPOCH + Duration::from_secs(5))
        );
        assert_eq!(whole_seconds(now + Duration::from_nanos(1), now), None);
        assert_eq!(
            whole_seconds(UNIX_EPOCH - Duration::from_secs(1), now),
            None
        );
    }
}
