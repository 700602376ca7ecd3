//! Opens what lies below a directory, and nothing outside of it: no link leads out, even one that is created during the
//! look-up. Knows nothing of HTTP.

#[cfg(not(unix))]
#[path = "root/other.rs"]
mod system;
#[cfg(unix)]
#[path = "root/unix.rs"]
mod system;

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

pub(super) use crate::disk::{Blocking, read_at};

/// What a path below the root names.
#[derive(Debug)]
pub(super) enum Entry {
    File(File, Metadata),
    Directory,
    /// Nothing that is served: it does not exist, may not be read, is outside the root, or is a device.
    Missing,
}

/// Identifies a version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) length: u64,
    pub(super) modified: SystemTime,
    inode: (u64, u64),
    changed: (i64, i64),
}

impl Version {
    pub(super) fn of(metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            length: metadata.len(),
            modified: metadata.modified()?,
            inode: system::inode(metadata),
            changed: system::changed(metadata),
        })
    }
}

/// Opens `path`, which is normalised and starts with a slash.
pub(super) fn open(root: &Path, path: &str, blocking: Blocking) -> io::Result<Entry> {
    let name = path.trim_matches('/');
    let name = if name.is_empty() { "." } else { name };
    let file = match system::open(root, name, blocking) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Entry::Missing),
        Err(error) if system::is_missing(&error) => return Ok(Entry::Missing),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    Ok(if metadata.is_dir() {
        Entry::Directory
    } else if metadata.is_file() {
        Entry::File(file, metadata)
    } else {
        Entry::Missing
    })
}

/// Whether the root certainly has no entry of this name, which is one segment of a path.
pub(super) fn lacks(root: &Path, name: &str, blocking: Blocking) -> bool {
    system::lacks(root, name, blocking).unwrap_or(false)
}

/// The same by its path.
fn lacks_path(root: &Path, name: &str, blocking: Blocking) -> io::Result<bool> {
    match blocking {
        Blocking::Never => Err(io::ErrorKind::WouldBlock.into()),
        Blocking::Allowed => {
            // an empty answer is about the name only if the root is there
            root.metadata()?;
            let entry = root.join(name).symlink_metadata();
            Ok(entry.is_err_and(|error| error.kind() == io::ErrorKind::NotFound))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A directory that belongs to one test.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("millrace-root-{name}-{}", std::process::id()));
            std::fs::create_dir_all(folder.join("public/a")).expect("a temporary folder");
            std::fs::write(folder.join("public/a/file"), "inside").expect("a temporary folder");
            std::fs::write(folder.join("secret"), "outside").expect("a temporary folder");
            Self(folder)
        }

        fn root(&self) -> std::path::PathBuf {
            self.0.join("public")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _gone = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Opens in both ways: by the single call of Linux, and by the walk that replaces it elsewhere.
    fn opens(root: &Path, name: &str) -> [bool; 2] {
        let one = open(root, name, Blocking::Allowed);
        let walked = system::walk(root, name.trim_matches('/'));
        [
            matches!(one, Ok(Entry::File(..))),
            matches!(walked, Ok(Some(_))),
        ]
    }

    #[test]
    fn links_inside_the_root_are_followed_and_others_are_not() {
        let folder = Folder::new("links");
        let root = folder.root();
        symlink("a/file", root.join("relative")).unwrap();
        symlink(root.join("a/file"), root.join("absolute")).unwrap();
        symlink("a", root.join("folder")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink(folder.0.join("secret"), root.join("out-absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for name in ["/a/file", "/relative", "/absolute", "/folder/file"] {
            assert_eq!(opens(&root, name), [true; 2], "{name}");
        }
        for name in [
            "/out",
            "/out-absolute",
            "/up/secret",
            "/loop",
            "/nothing",
            "/a/file/x",
        ] {
            assert_eq!(opens(&root, name), [false; 2], "{name}");
            assert!(
                matches!(open(&root, name, Blocking::Allowed), Ok(Entry::Missing)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_root_lacks_only_names_without_an_entry() {
        let folder = Folder::new("lacks");
        let root = folder.root();
        symlink("nowhere", root.join("broken")).unwrap();
        assert!(lacks(&root, "nothing", Blocking::Allowed));
        for blocking in [Blocking::Allowed, Blocking::Never] {
            for name in ["a", "broken"] {
                assert!(!lacks(&root, name, blocking), "{name}");
            }
            let gone = folder.0.join("gone");
            assert!(!lacks(&gone, "a", blocking));
        }
    }

    #[test]
    fn directories_are_distinguished_from_files() {
        let folder = Folder::new("directories");
        for name in ["/", "/a", ""] {
            let entry = open(&folder.root(), name, Blocking::Allowed);
            assert!(matches!(entry, Ok(Entry::Directory)), "{name}");
        }
        let gone = open(&folder.0.join("nowhere"), "/a", Blocking::Allowed);
        assert!(matches!(gone, Ok(Entry::Missing)));
    }

    #[test]
    fn a_caller_that_must_not_wait_gets_the_same_or_would_block() {
        let folder = Folder::new("blocking");
        let root = folder.root();
        match open(&root, "/a/file", Blocking::Never) {
            Ok(Entry::File(file, _)) => {
                let mut bytes = [0; 16];
                match read_at(&file, &mut bytes, 2, Blocking::Never) {
                    Ok(count) => assert_eq!(bytes.get(..count), Some(&b"side"[..])),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }

    #[test]
    fn a_version_changes_with_the_file() {
        let folder = Folder::new("version");
        let path = folder.root().join("a/file");
        let version = || Version::of(&path.metadata().unwrap()).unwrap();
        let first = version();
        assert_eq!(first, version());
        std::fs::write(folder.root().join("new"), "inside").unwrap();
        std::fs::rename(folder.root().join("new"), &path).unwrap();
        assert_ne!(first, version());
    }
}
