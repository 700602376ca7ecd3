//! Simple requests for files: one that is kept in memory is answered at once, and a request that names no file passes at
//! once.

use super::coding::Coding;
use super::resource::{Content, Found, Resource};
use super::{Files, path};
use crate::http::{Ready, ReadyHead, SimpleRequest, Taking};

impl Files {
    /// Answers if that needs no waiting and no look at conditions.
    pub(super) fn take_simple(&self, request: &SimpleRequest<'_>) -> Taking {
        let Some(path) = path::normalise(request.path()) else {
            return Taking::Unsure;
        };
        let mut may_fall_back = false;
        for (mount, below) in self.at(&path) {
            match mount.find_now(below) {
                Some(Found::Missing) => may_fall_back |= mount.fallback.is_some(),
                Some(Found::File(resource)) => return whole(request, &resource),
                Some(Found::Directory) | None => return Taking::Unsure,
            }
        }
        // a fallback page depends on what the client accepts
        if may_fall_back {
            Taking::Unsure
        } else {
            Taking::Pass
        }
    }
}

/// Answers with the whole file.
fn whole(request: &SimpleRequest<'_>, resource: &Resource) -> Taking {
    let variant = resource.variant(Coding::Identity);
    match variant {
        Some(variant) if !resource.has_codings() && !has_conditions(request) => {
            if let Content::Kept(bytes) = &variant.content {
                return Taking::Answer(Ready {
                    head: ReadyHead::Lines(variant.lines.clone()),
                    body: bytes.clone(),
                });
            }
            Taking::Unsure
        }
        _ => Taking::Unsure,
    }
}

/// Whether headers may change the answer: `Range`, `If-Range`, `If-Match` and the like.
fn has_conditions(request: &SimpleRequest<'_>) -> bool {
    request.headers().any(|(name, _)| {
        let begins = |with: &[u8]| {
            let start = name.get(..with.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(with))
        };
        begins(b"if-") || name.eq_ignore_ascii_case(b"range")
    })
}
