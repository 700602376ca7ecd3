//! The option `static`: which directories are served, and how.

use std::path::PathBuf;

use crate::contract::{ListenError, Reader};

/// The files of one directory, served at one path.
#[derive(Clone, Debug)]
pub(super) struct DirectoryOptions {
    /// Where they are served: `/`, or a path such as `/assets`.
    pub(super) path: String,
    pub(super) directory: PathBuf,
    /// A file of the directory that is sent for pages that do not exist (for a program that routes in the browser).
    pub(super) fallback: Option<String>,
    /// A file of the directory that is sent as the body of a 404.
    pub(super) not_found: Option<String>,
    /// Whether names that start with a dot are served. `.well-known` always is.
    pub(super) dotfiles: bool,
    /// Whether `name.br`, `name.zst` and `name.gz` are sent for `name` to clients that accept it.
    pub(super) precompressed: bool,
    /// `Cache-Control` of files that may change; `None` sends no such header.
    pub(super) cache_control: Option<String>,
    /// Which files never change.
    pub(super) immutable: Immutable,
    /// Additional headers of every answer with a file.
    pub(super) headers: Vec<(String, String)>,
}

/// Which files never change under their name, so that browsers keep them without asking again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Immutable {
    /// No file.
    Never,
    /// Files with a hash of their content in the name, such as `app.3f9a2c1b.js`.
    HashedNames,
    /// Files whose path in the directory starts with one of these (`/assets/`).
    Below(Vec<String>),
}

impl DirectoryOptions {
    pub(super) fn read(given: &Reader<'_>) -> Result<Self, ListenError> {
        let text = |name: &str| Ok::<_, ListenError>(given.text(name)?.map(str::to_owned));
        let directory = given.text("directory")?;
        let directory = directory.ok_or_else(|| given.wrong("directory", "a text"))?;
        let below = given.texts("immutable")?.unwrap_or_default();
        let hashed = given.flag("hashedNames")?.unwrap_or(true);
        // names and values alternate
        let mut headers = given.texts("headers")?.unwrap_or_default().into_iter();
        let mut pairs = Vec::new();
        while let Some(name) = headers.next() {
            let value = headers.next();
            let value = value.ok_or_else(|| given.wrong("headers", "names and values in turn"))?;
            pairs.push((name, value));
        }
        Ok(Self {
            path: text("path")?.unwrap_or_else(|| "/".to_owned()),
            directory: directory.into(),
            fallback: text("fallback")?,
            not_found: text("notFound")?,
            dotfiles: given.flag("dotfiles")?.unwrap_or(false),
            precompressed: given.flag("precompressed")?.unwrap_or(true),
            // an empty text means no such header
            cache_control: Some(text("cacheControl")?.unwrap_or_else(|| "no-cache".to_owned()))
                .filter(|value| !value.is_empty()),
            immutable: match (below.is_empty(), hashed) {
                (false, _) => Immutable::Below(below),
                (true, true) => Immutable::HashedNames,
                (true, false) => Immutable::Never,
            },
            headers: pairs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn read(given: Options) -> Result<DirectoryOptions, ListenError> {
        let options = Options::new().list("static", [given.text("directory", "/srv")]);
        let mut all = options.reader().each("static", DirectoryOptions::read)?;
        Ok(all.remove(0))
    }

    #[test]
    fn a_directory_alone_has_the_defaults() {
        let made = read(Options::new()).unwrap();
        assert_eq!((&*made.path, made.directory), ("/", PathBuf::from("/srv")));
        assert!(made.precompressed && !made.dotfiles);
        assert_eq!(made.cache_control.as_deref(), Some("no-cache"));
        assert_eq!(made.immutable, Immutable::HashedNames);
        assert!(made.fallback.is_none() && made.not_found.is_none() && made.headers.is_empty());
    }

    #[test]
    fn given_options_are_read() {
        let made = read(
            Options::new()
                .text("path", "/a")
                .text("fallback", "index.html")
                .text("notFound", "404.html")
                .flag("dotfiles", true)
                .flag("precompressed", false)
                .text("cacheControl", "")
                .list("immutable", ["/assets/"])
                .list("headers", ["x-a", "1"]),
        );
        let made = made.unwrap();
        assert_eq!(made.path, "/a");
        assert_eq!(made.fallback.as_deref(), Some("index.html"));
        assert_eq!(made.not_found.as_deref(), Some("404.html"));
        assert!(made.dotfiles && !made.precompressed && made.cache_control.is_none());
        assert_eq!(
            made.immutable,
            Immutable::Below(vec!["/assets/".to_owned()])
        );
        assert_eq!(made.headers, [("x-a".to_owned(), "1".to_owned())]);
        let never = read(Options::new().flag("hashedNames", false)).unwrap();
        assert_eq!(never.immutable, Immutable::Never);
    }

    #[test]
    fn errors_name_the_wrong_option() {
        for (given, problem) in [
            (
                Options::new().list("headers", ["x-a"]),
                "static[0].headers must be names and values in turn",
            ),
            (
                Options::new().flag("path", true),
                "static[0].path must be a text",
            ),
            (
                Options::new().text("root", "/"),
                "static[0].root is no option of this protocol",
            ),
        ] {
            assert_eq!(read(given).unwrap_err().to_string(), problem);
        }
    }
}
