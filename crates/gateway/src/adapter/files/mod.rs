//! Static files: answers a GET or HEAD with a file of a directory, without JavaScript. This file chooses the answer;
//! its submodules look files up.

mod body;
mod cache;
mod coding;
mod conditions;
mod folders;
mod immutable;
mod limits;
mod mime;
mod mount;
mod options;
mod path;
mod range;
mod resource;
mod root;
mod simple;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_RANGES, ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderValue, LAST_MODIFIED, LOCATION,
};
use http::{HeaderMap, Method, Response, StatusCode};

use self::body::FileBody;
use self::coding::{Accepted, Coding};
use self::conditions::Verdict;
use self::limits::FileLimits;
use self::mount::Mount;
use self::options::DirectoryOptions;
use self::resource::{Content, Found, Resource, Variant};
use crate::contract::{ListenError, Reader};
use crate::http::{
    Answer, Answering, Asked, Body, Claim, Endpoint, EndpointLimits, Exchange, OVER_LIMIT,
    SimpleRequest, Taking, plain,
};

/// The directories that a listener serves, in the order in which they are searched.
#[derive(Debug)]
pub(crate) struct Files {
    mounts: Vec<Arc<Mount>>,
}

impl Files {
    /// Opens the directories; `None` if there are none.
    pub(crate) fn open(
        options: &Reader<'_>,
        limits: &EndpointLimits<'_>,
    ) -> Result<Option<Self>, ListenError> {
        let limits: FileLimits = limits.own()?;
        let directories = options.each("static", DirectoryOptions::read)?;
        let Some(share) = limits.static_cache_bytes.checked_div(directories.len()) else {
            return Ok(None);
        };
        let mounts = directories
            .iter()
            .map(|directory| Mount::new(directory, &limits, share).map(Arc::new))
            .collect::<Result<_, _>>()?;
        Ok(Some(Self { mounts }))
    }

    /// Answers if there is such a file. With `last` no other endpoint follows, so this one answers 404 and 405.
    async fn look(&self, request: &Asked, last: bool) -> Option<Answer> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if !reads && !last {
            return None;
        }
        let Some(path) = path::normalise(request.uri().path()) else {
            return last.then(not_found);
        };
        match self.find(request, &path, reads).await {
            Ok(Some(answer)) => Some(answer),
            Ok(None) if !last => None,
            Ok(None) => Some(self.missing(request, &path, reads).await),
            Err(error) => Some(failed(request, &error)),
        }
    }

    /// Searches each directory, then looks for the fallback page of a path that is in none.
    async fn find(&self, request: &Asked, path: &str, reads: bool) -> io::Result<Option<Answer>> {
        for (mount, below) in self.at(path) {
            match mount.find(below).await? {
                Found::Missing => {}
                _ if !reads => return Ok(Some(not_allowed())),
                Found::Directory => return Ok(Some(redirect(request, &mount.whole(below)))),
                Found::File(resource) => {
                    let file = (mount, below, resource);
                    return serve(request, file, StatusCode::OK).await.map(Some);
                }
            }
        }
        if !reads || !accepts_html(request.headers()) {
            return Ok(None);
        }
        for (mount, _) in self.at(path) {
            if let Some(page) = &mount.fallback
                && let Found::File(resource) = mount.find(page).await?
            {
                return serve(request, (mount, page, resource), StatusCode::OK)
                    .await
                    .map(Some);
            }
        }
        Ok(None)
    }

    /// Answers 404, with a page if there is one.
    async fn missing(&self, request: &Asked, path: &str, reads: bool) -> Answer {
        for (mount, _) in self.at(path).filter(|_| reads) {
            if let Some(page) = &mount.not_found
                && let Ok(Found::File(resource)) = mount.find(page).await
                && let Ok(answer) =
                    serve(request, (mount, page, resource), StatusCode::NOT_FOUND).await
            {
                return answer;
            }
        }
        not_found()
    }

    /// The mounts that contain a path, each with the rest of the path below it.
    fn at<'p>(&'p self, path: &'p str) -> impl Iterator<Item = (&'p Arc<Mount>, &'p str)> {
        self.mounts
            .iter()
            .filter_map(move |mount| Some((mount, mount.below(path)?)))
    }
}

impl Endpoint for Files {
    fn claim(&self, _: &Exchange, _: &Asked) -> Claim {
        Claim::MayPass
    }

    fn take(&self, _: &Exchange, request: &SimpleRequest<'_>) -> Taking {
        self.take_simple(request)
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        Box::pin(async move {
            if exchange.client.over_limit {
                return Some(plain(StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT));
            }
            self.look(asked, exchange.last).await
        })
    }
}

/// A file of a mount: where it was searched, and what was found.
type Served<'s> = (&'s Arc<Mount>, &'s str, Arc<Resource>);

/// Answers with a file. Gives up if the file changes between every two attempts.
async fn serve(request: &Asked, file: Served<'_>, status: StatusCode) -> io::Result<Answer> {
    let (mount, below, mut resource) = file;
    for _ in 0..ATTEMPTS {
        let accepted = resource
            .has_codings()
            .then(|| Accepted::read(request.headers()));
        let coding = accepted.map_or(Coding::Identity, |accepted| {
            accepted.choose(|coding| resource.variant(coding).is_some())
        });
        let Some(variant) = resource.variant(coding) else {
            break;
        };
        let plan = Plan::of(request, variant, status);
        let body = match (&variant.content, &plan.range) {
            (_, None) => Body::empty(),
            (Content::Kept(bytes), Some(range)) => Body::from(part(bytes, range)),
            (Content::OnDisk(name, version), Some(range)) => {
                let Some(file) = mount.reopen(name, version).await? else {
                    mount.forget(below);
                    let Found::File(newer) = mount.find(below).await? else {
                        break;
                    };
                    resource = newer;
                    continue;
                };
                Body::Stream(Box::pin(FileBody::new(file, range.clone())))
            }
        };
        return Ok(plan.answer(variant, body));
    }
    Ok(plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "The file is being changed",
    ))
}

/// How often a file is opened that changes between two looks.
const ATTEMPTS: usize = 3;

/// The part of a file to send.
struct Plan {
    status: StatusCode,
    /// `None` sends no body.
    range: Option<Range<u64>>,
}

impl Plan {
    fn of(request: &Asked, variant: &Variant, status: StatusCode) -> Self {
        let whole = (*request.method() == Method::GET).then_some(0..variant.length);
        if status != StatusCode::OK {
            return Self {
                status,
                range: whole,
            };
        }
        let (headers, validators) = (request.headers(), &variant.validators);
        let status = match conditions::judge(headers, validators) {
            Verdict::Send => StatusCode::OK,
            Verdict::NotModified => StatusCode::NOT_MODIFIED,
            Verdict::Failed => StatusCode::PRECONDITION_FAILED,
        };
        if status != StatusCode::OK {
            return Self {
                status,
                range: None,
            };
        }
        let asked = match &whole {
            Some(_) if conditions::allows_range(headers, validators) => {
                range::read(headers, variant.length)
            }
            _ => range::Asked::Whole,
        };
        match asked {
            range::Asked::Whole => Self {
                status,
                range: whole,
            },
            range::Asked::Part(range) => Self {
                status: StatusCode::PARTIAL_CONTENT,
                range: Some(range),
            },
            range::Asked::Beyond => Self {
                status: StatusCode::RANGE_NOT_SATISFIABLE,
                range: None,
            },
        }
    }

    fn answer(self, variant: &Variant, body: Body) -> Answer {
        let mut answer = Response::new(body);
        *answer.status_mut() = self.status;
        *answer.headers_mut() = variant.headers.clone();
        let headers = answer.headers_mut();
        match (self.status, self.range) {
            (StatusCode::PARTIAL_CONTENT, Some(range)) => {
                let last = range.end.saturating_sub(1);
                let text = format!("bytes {}-{last}/{}", range.start, variant.length);
                set(headers, CONTENT_RANGE, text);
                headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, _) => {
                set(
                    headers,
                    CONTENT_RANGE,
                    format!("bytes */{}", variant.length),
                );
                without_content(headers);
            }
            (StatusCode::NOT_MODIFIED | StatusCode::PRECONDITION_FAILED, _) => {
                without_content(headers);
            }
            (StatusCode::NOT_FOUND, _) => {
                // validators of the page would be taken for validators of the requested path
                for name in [ETAG, LAST_MODIFIED, ACCEPT_RANGES] {
                    headers.remove(name);
                }
            }
            _ => {}
        }
        answer
    }
}

/// Removes the headers that describe a body, for an answer without one.
fn without_content(headers: &mut HeaderMap) {
    for name in [
        CONTENT_TYPE,
        CONTENT_LENGTH,
        CONTENT_ENCODING,
        ACCEPT_RANGES,
    ] {
        headers.remove(name);
    }
}

fn set(headers: &mut HeaderMap, name: http::HeaderName, text: String) {
    if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(text)) {
        headers.insert(name, value);
    }
}

/// The bytes of a range, cut to what is there.
fn part(bytes: &Bytes, range: &Range<u64>) -> Bytes {
    let place = |at: u64| usize::try_from(at).map_or(bytes.len(), |at| at.min(bytes.len()));
    bytes.slice(place(range.start)..place(range.end))
}

/// Redirects to the directory with a slash at its end, so that relative links resolve.
fn redirect(request: &Asked, path: &str) -> Answer {
    let mut location = path::encode(path);
    location.push('/');
    if let Some(query) = request.uri().query() {
        location.push('?');
        location.push_str(query);
    }
    let mut answer = plain(StatusCode::MOVED_PERMANENTLY, "Moved permanently");
    set(answer.headers_mut(), LOCATION, location);
    answer
}

fn not_found() -> Answer {
    plain(StatusCode::NOT_FOUND, "Not found")
}

fn not_allowed() -> Answer {
    let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
    let allowed = HeaderValue::from_static("GET, HEAD");
    answer.headers_mut().insert(ALLOW, allowed);
    answer
}

fn failed(request: &Asked, error: &io::Error) -> Answer {
    tracing::warn!(target: "millrace::files", path = request.uri().path(), %error, "not readable");
    plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
}

/// Whether a browser asks for a page: it names `text/html` when the user navigates to it.
fn accepts_html(headers: &HeaderMap) -> bool {
    coding::weighted(headers, &ACCEPT)
        .any(|(mime, weight)| weight > 0 && mime.eq_ignore_ascii_case("text/html"))
}
