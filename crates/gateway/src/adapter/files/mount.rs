//! One directory served at one path: its rules, and finding the file that a path below it names.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{CACHE_CONTROL, HeaderName, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

use super::cache::Cache;
use super::folders::Folders;
use super::immutable;
use super::limits::FileLimits;
use super::options::{DirectoryOptions, Immutable};
use super::path;
use super::resource::{Found, Recipe};
use super::root::{self, Blocking, Entry, Version};
use crate::contract::ListenError;

/// See the module.
#[derive(Debug)]
pub(super) struct Mount {
    /// `""`, or a path such as `/assets`.
    prefix: String,
    directory: PathBuf,
    dotfiles: bool,
    /// Paths below the directory, with a slash in front.
    pub(super) fallback: Option<String>,
    pub(super) not_found: Option<String>,
    cache_control: Option<HeaderValue>,
    immutable: Immutable,
    recipe: Recipe,
    cache: Cache,
    folders: Folders,
}

impl Mount {
    /// Checks a configuration. `share` is the part of the cache that belongs to this mount.
    pub(super) fn new(
        config: &DirectoryOptions,
        limits: &FileLimits,
        share: usize,
    ) -> Result<Self, ListenError> {
        let directory = absolute(&config.directory).map_err(|error| {
            let directory = config.directory.display();
            unusable(format!("the directory {directory} cannot be read: {error}"))
        })?;
        let headers = headers(&config.headers)?;
        let cache_control = match &config.cache_control {
            _ if headers.contains_key(CACHE_CONTROL) => None,
            Some(value) => Some(value.parse().map_err(|_| wrong("cacheControl", value))?),
            None => None,
        };
        Ok(Self {
            prefix: prefix(&config.path)?,
            directory,
            dotfiles: config.dotfiles,
            fallback: page("fallback", config.fallback.as_deref())?,
            not_found: page("notFound", config.not_found.as_deref())?,
            cache_control,
            immutable: config.immutable.clone(),
            recipe: Recipe {
                precompressed: config.precompressed,
                kept_bytes: u64::try_from(limits.static_cache_file_bytes.min(share))
                    .unwrap_or(u64::MAX),
                headers,
            },
            cache: Cache::new(share, limits.static_check),
            folders: Folders::new(if share == 0 {
                Duration::ZERO
            } else {
                limits.static_check
            }),
        })
    }

    /// The rest of a normalised path below this mount, if this mount may answer it.
    pub(super) fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let below = path::below(path, &self.prefix)?;
        let refused = (!self.dotfiles && path::is_hidden(below))
            || (cfg!(windows) && path::is_windows_trap(below));
        (!refused).then_some(below)
    }

    /// The whole path of a path below this mount.
    pub(super) fn whole(&self, below: &str) -> String {
        format!("{}{below}", self.prefix)
    }

    /// Finds what a path below this mount names.
    pub(super) async fn find(self: &Arc<Self>, below: &str) -> io::Result<Found> {
        let now = Instant::now();
        if let Some(found) = self.known(below, now) {
            return Ok(found);
        }
        let (mount, name) = (Arc::clone(self), below.to_owned());
        // the result is cached even if the request has ended meanwhile
        run_blocking(move |blocking| {
            let found = mount.look(&name, blocking)?;
            mount.learn(&name, &found, now, blocking);
            Ok(found)
        })
        .await
    }

    /// Finds the same without waiting; `None`: that is not possible.
    pub(super) fn find_now(&self, below: &str) -> Option<Found> {
        let now = Instant::now();
        if let Some(found) = self.known(below, now) {
            return Some(found);
        }
        let Ok(found) = self.look(below, Blocking::Never) else {
            // the next look-up must not believe what is too old
            self.cache.forget(below);
            return None;
        };
        self.learn(below, &found, now, Blocking::Never);
        Some(found)
    }

    /// Opens a file that is not kept in memory, if it still has this version.
    pub(super) async fn reopen(
        self: &Arc<Self>,
        name: &str,
        version: &Version,
    ) -> io::Result<Option<File>> {
        let (mount, name, version) = (Arc::clone(self), name.to_owned(), version.clone());
        run_blocking(move |blocking| {
            Ok(match root::open(&mount.directory, &name, blocking)? {
                Entry::File(file, metadata) => (Version::of(&metadata)? == version).then_some(file),
                Entry::Directory | Entry::Missing => None,
            })
        })
        .await
    }

    /// Removes the cached entry of a path that turned out to be wrong.
    pub(super) fn forget(&self, below: &str) {
        self.cache.forget(below);
    }

    /// What recent look-ups say about a path.
    fn known(&self, below: &str, now: Instant) -> Option<Found> {
        let found = self.cache.get(below, now);
        found.or_else(|| self.folders.lack(below, now).then_some(Found::Missing))
    }

    /// Keeps what a look-up has found. Paths in a folder that does not exist have one entry together, that of the folder.
    fn learn(&self, below: &str, found: &Found, now: Instant, blocking: Blocking) {
        let lacks = |folder: &str| root::lacks(&self.directory, folder, blocking);
        if matches!(found, Found::Missing) && self.folders.learn(below, now, lacks) {
            // what it was before
            self.cache.forget(below);
        } else {
            self.cache.put(below, found, now);
        }
    }

    fn look(&self, below: &str, blocking: Blocking) -> io::Result<Found> {
        if below.ends_with('/') {
            let index = format!("{below}{INDEX}");
            return match root::open(&self.directory, &index, blocking)? {
                Entry::File(file, metadata) => self.load(&index, file, &metadata, blocking),
                Entry::Directory | Entry::Missing => Ok(Found::Missing),
            };
        }
        match root::open(&self.directory, below, blocking)? {
            Entry::File(file, metadata) => self.load(below, file, &metadata, blocking),
            Entry::Missing => Ok(Found::Missing),
            Entry::Directory => {
                let index = format!("{below}/{INDEX}");
                Ok(match root::open(&self.directory, &index, blocking)? {
                    Entry::File(..) => Found::Directory,
                    Entry::Directory | Entry::Missing => Found::Missing,
                })
            }
        }
    }

    fn load(
        &self,
        name: &str,
        file: File,
        metadata: &Metadata,
        blocking: Blocking,
    ) -> io::Result<Found> {
        let version = Version::of(metadata)?;
        let forever;
        let cache_control = if immutable::covers(&self.immutable, name) {
            forever = HeaderValue::from_static(FOREVER);
            Some(&forever)
        } else {
            self.cache_control.as_ref()
        };
        let resource = self.recipe.make(
            (name, file, version),
            cache_control,
            |sibling| root::open(&self.directory, sibling, blocking),
            blocking,
        )?;
        Ok(Found::File(Arc::new(resource)))
    }
}

/// Does the work at once if it need not wait for the disk, and otherwise on the blocking pool.
async fn run_blocking<T: Send + 'static>(
    work: impl Fn(Blocking) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match work(Blocking::Never) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        done => return done,
    }
    tokio::task::spawn_blocking(move || work(Blocking::Allowed))
        .await
        .map_err(io::Error::other)
        .and_then(|done| done)
}

/// The absolute path of a directory, which stays valid when the working directory changes.
fn absolute(directory: &Path) -> io::Result<PathBuf> {
    let directory = std::path::absolute(directory)?;
    if directory.metadata()?.is_dir() {
        Ok(directory)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, ListenError> {
    let mut headers = HeaderMap::new();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    for (name, value) in given {
        let problem = || wrong("headers", name);
        let name = HeaderName::try_from(name).map_err(|_| problem())?;
        let value = HeaderValue::try_from(value).map_err(|_| problem())?;
        if OURS.contains(&name.as_str()) {
            return Err(problem());
        }
        headers.insert(name, value);
    }
    Ok(headers)
}

/// `/`, `/assets` or `/assets/` as a prefix.
fn prefix(path: &str) -> Result<String, ListenError> {
    let normal = path::normalise(path).ok_or_else(|| wrong("path", path))?;
    Ok(normal.trim_end_matches('/').to_owned())
}

/// The path of a page within the directory, with a slash in front.
fn page(option: &str, name: Option<&str>) -> Result<Option<String>, ListenError> {
    let Some(name) = name else {
        return Ok(None);
    };
    let whole = format!("/{name}");
    let is_name = path::normalise(&whole).is_some_and(|normal| normal == whole);
    if is_name && !whole.ends_with('/') {
        Ok(Some(whole))
    } else {
        Err(wrong(option, name))
    }
}

fn wrong(option: &str, value: &str) -> ListenError {
    unusable(format!("{option} cannot be {value:?}"))
}

fn unusable(problem: String) -> ListenError {
    ListenError::Unusable {
        option: "static",
        problem,
    }
}

/// The file that is served for a directory.
const INDEX: &str = "index.html";

/// `Cache-Control` of files that never change: a year, the longest time that caches honour.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Headers that are set for each file: the option `headers` cannot set them.
const OURS: [&str; 14] = [
    "accept-ranges",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "keep-alive",
    "last-modified",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
];
