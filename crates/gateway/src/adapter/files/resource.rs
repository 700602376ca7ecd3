//! A file as it is served: its codings, each with the prepared headers of a complete answer, and the content of a small
//! file.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG,
    LAST_MODIFIED, VARY,
};
use http::{HeaderMap, HeaderValue};

use super::coding::Coding;
use super::conditions::{self, Validators};
use super::mime;
use super::root::{self, Blocking, Entry, Version};

/// What a path names.
#[derive(Clone, Debug)]
pub(super) enum Found {
    File(Arc<Resource>),
    /// A directory with an index, requested without the slash at its end.
    Directory,
    Missing,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Resource {
    /// In the order of [`Coding::ALL`]; the last one is the file itself, which is always there.
    variants: Vec<Variant>,
}

/// One coding of a file.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) coding: Coding,
    pub(super) validators: Validators,
    /// The headers of an answer with the whole file.
    pub(super) headers: HeaderMap,
    /// The same with the status line, as HTTP/1 has them.
    pub(super) lines: Bytes,
    pub(super) length: u64,
    pub(super) content: Content,
}

/// Where the bytes are.
#[derive(Debug)]
pub(super) enum Content {
    Kept(Bytes),
    /// In the file of this name, provided that it still has this version.
    OnDisk(String, Version),
}

/// How files become resources.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Whether precompressed siblings are looked for.
    pub(super) precompressed: bool,
    /// Files up to this length are kept in memory.
    pub(super) kept_bytes: u64,
    /// Headers of every answer.
    pub(super) headers: HeaderMap,
}

impl Recipe {
    /// Makes the resource of an open file. `open` opens its siblings.
    pub(super) fn make(
        &self,
        (name, file, version): (&str, File, Version),
        cache_control: Option<&HeaderValue>,
        open: impl Fn(&str) -> io::Result<Entry>,
        blocking: Blocking,
    ) -> io::Result<Resource> {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, mime::of(name));
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if let Some(value) = cache_control {
            headers.insert(CACHE_CONTROL, value.clone());
        }
        let mut sources = Vec::new();
        for coding in Coding::PRECOMPRESSED
            .into_iter()
            .filter(|_| self.precompressed)
        {
            let name = format!("{name}{}", coding.suffix());
            if let Entry::File(file, metadata) = open(&name)? {
                let sibling = Version::of(&metadata)?;
                if is_current(&sibling, &version) {
                    sources.push((coding, name, file, sibling));
                }
            }
        }
        if !sources.is_empty() {
            headers.append(VARY, HeaderValue::from_static("accept-encoding"));
        }
        sources.push((Coding::Identity, name.to_owned(), file, version));
        let variants = sources
            .into_iter()
            .map(|(coding, name, file, version)| {
                let content = match keep(&file, &version, self.kept_bytes, blocking)? {
                    Some(bytes) => Content::Kept(bytes),
                    None => Content::OnDisk(name, version.clone()),
                };
                Ok(Variant::new(coding, &version, headers.clone(), content))
            })
            .collect::<io::Result<_>>()?;
        Ok(Resource { variants })
    }
}

impl Resource {
    /// The variant with this coding.
    pub(super) fn variant(&self, coding: Coding) -> Option<&Variant> {
        self.variants
            .iter()
            .find(|variant| variant.coding == coding)
    }

    /// Whether there are other variants than the file itself.
    pub(super) fn has_codings(&self) -> bool {
        self.variants.len() > 1
    }

    /// About how many bytes of memory this takes.
    pub(super) fn weight(&self) -> usize {
        let weights = self.variants.iter().map(|variant| match &variant.content {
            Content::Kept(bytes) => bytes.len() + VARIANT_WEIGHT,
            Content::OnDisk(name, _) => name.len() + VARIANT_WEIGHT,
        });
        weights.sum()
    }
}

impl Variant {
    fn new(coding: Coding, version: &Version, mut headers: HeaderMap, content: Content) -> Self {
        let validators = Validators {
            etag: etag(version, coding),
            modified: conditions::whole_seconds(version.modified, SystemTime::now()),
        };
        headers.insert(ETAG, validators.etag.clone());
        if let Some(modified) = validators.modified {
            let text = httpdate::fmt_http_date(modified);
            if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(text)) {
                headers.insert(LAST_MODIFIED, value);
            }
        }
        if coding != Coding::Identity {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        let length = version.length;
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        Self {
            coding,
            validators,
            lines: lines(&headers),
            headers,
            length,
            content,
        }
    }
}

/// The beginning of an answer with these headers, which are those of the whole file.
fn lines(headers: &HeaderMap) -> Bytes {
    let mut lines = b"HTTP/1.1 200 OK\r\n".to_vec();
    for (name, value) in headers {
        lines.extend_from_slice(name.as_str().as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value.as_bytes());
        lines.extend_from_slice(b"\r\n");
    }
    lines.into()
}

/// Reads a small file into memory, unless it changes while it is read.
fn keep(
    file: &File,
    version: &Version,
    limit: u64,
    blocking: Blocking,
) -> io::Result<Option<Bytes>> {
    if version.length > limit {
        return Ok(None);
    }
    let Ok(length) = usize::try_from(version.length) else {
        return Ok(None);
    };
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let count = root::read_at(
            file,
            rest,
            u64::try_from(filled).unwrap_or(u64::MAX),
            blocking,
        )?;
        if count == 0 {
            return Ok(None);
        }
        filled += count;
    }
    let unchanged = Version::of(&file.metadata()?)? == *version;
    Ok(unchanged.then(|| Bytes::from(bytes)))
}

/// Whether a sibling is current: one that is older than its file was made from another version of it.
fn is_current(sibling: &Version, original: &Version) -> bool {
    sibling.modified + MTIME_STEP > original.modified
}

/// Tools that copy files cut their times to seconds, and some file systems cut them to two seconds.
const MTIME_STEP: std::time::Duration = std::time::Duration::from_secs(2);

/// Makes the entity tag from length and time of change, so that clients learn nothing else about the file.
fn etag(version: &Version, coding: Coding) -> HeaderValue {
    let since = version
        .modified
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let text = format!("\"{:x}-{since:x}{}\"", version.length, mark(coding));
    HeaderValue::from_maybe_shared(Bytes::from(text))
        .unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

const fn mark(coding: Coding) -> &'static str {
    match coding {
        Coding::Brotli => "-br",
        Coding::Zstd => "-zst",
        Coding::Gzip => "-gz",
        Coding::Identity => "",
    }
}

/// The bytes that a variant is charged beside its content, for headers and bookkeeping.
const VARIANT_WEIGHT: usize = 2048;
