//! The page itself, in one file. Its script and its style run by a nonce that each answer draws anew.

use std::io;

use hyper::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use crate::contract::random;
use crate::http::{Answer, Body, plain};

/// Makes the answer with the page.
pub(super) fn answer() -> Answer {
    made().unwrap_or_else(|_| {
        plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The system has no random numbers",
        )
    })
}

fn made() -> io::Result<Answer> {
    let mut bytes = [0; 16];
    random(&mut bytes)?;
    let nonce = format!("{:032x}", u128::from_be_bytes(bytes));
    let text = PAGE.replace(PLACE, &nonce);
    let mut answer = Response::new(Body::from(bytes::Bytes::from(text)));
    let headers = answer.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    let policy = HeaderValue::try_from(policy(&nonce)).map_err(io::Error::other)?;
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    Ok(answer)
}

/// Nothing but this page's own script, style and icon, and requests to where it comes from. No script may turn a text
/// into HTML.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

const PAGE: &str = include_str!("page.html");

/// Stands for the nonce in the page.
const PLACE: &str = "{{nonce}}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_script_and_one_style_both_with_the_nonce() {
        for tag in ["script", "style"] {
            assert_eq!(PAGE.matches(&format!("<{tag}")).count(), 1);
            assert!(PAGE.contains(&format!("<{tag} nonce=\"{PLACE}\">")));
        }
        assert_eq!(PAGE.matches(PLACE).count(), 2);
        let [one, other] = [(); 2].map(|()| made().unwrap());
        let policy = |answer: &Answer| answer.headers()[CONTENT_SECURITY_POLICY].clone();
        assert_ne!(policy(&one), policy(&other), "each answer has its own");
    }

    #[test]
    fn the_page_makes_no_html_from_texts_and_stores_nothing() {
        for way in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "eval(",
            "Function(",
            "localStorage",
            "sessionStorage",
            "indexedDB",
            "cookie",
            "style=\"",
            " onclick",
            "http://",
            "https://",
        ] {
            let text = PAGE.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains(way), "{way}");
        }
    }
}
