//! Stores by URL, for tools.
#[cfg(feature = "s3")]
use super::s3::{S3, S3OpenError, S3Options};
use super::{LocalDir, Memory, Store};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KNOWN: &str = if cfg!(feature = "s3") { "file://, memory: and s3://" } else { "file:// and memory:" };

/// Opens the store that a URL names: `file:///absolute/path` is a [`LocalDir`] (the path is taken as it is, without
/// percent-decoding), `memory:` a fresh, empty [`Memory`], and, with the feature `s3`,
/// `s3://bucket/prefix?endpoint=&region=&profile=&style=&dialect=` a bucket.
///
/// # Errors
/// Another scheme, a path that is not absolute, a directory that can't be opened, a bucket that is not fully named.
pub fn open_url(url: &str) -> Result<Arc<dyn Store>, OpenStoreError> {
    match url.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(Memory::new())),
        Some(("memory", _)) => Err(OpenStoreError::MemoryWithPath),
        Some(("file", rest)) => open_directory(rest),
        #[cfg(feature = "s3")]
        Some(("s3", _)) => open_bucket(url),
        Some((scheme, _)) => Err(OpenStoreError::UnsupportedScheme { scheme: Some(scheme.to_owned()) }),
        None => Err(OpenStoreError::UnsupportedScheme { scheme: None }),
    }
}

#[cfg(feature = "s3")]
fn open_bucket(url: &str) -> Result<Arc<dyn Store>, OpenStoreError> {
    let store = S3Options::from_url(url).and_then(S3::open).map_err(OpenStoreError::Bucket)?;
    Ok(Arc::new(store))
}

fn open_directory(rest: &str) -> Result<Arc<dyn Store>, OpenStoreError> {
    let path = match rest.strip_prefix("//") {
        Some(path) if Path::new(path).is_absolute() => PathBuf::from(path),
        _ => return Err(OpenStoreError::NotAbsolute),
    };
    match LocalDir::open(&path) {
        Ok(store) => Ok(Arc::new(store)),
        Err(cause) => Err(OpenStoreError::Directory { path, cause }),
    }
}

/// Why a URL names no store that can be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// No scheme, or one that this build doesn't know.
    UnsupportedScheme {
        /// The text before the first colon; `None` without a colon.
        scheme: Option<String>,
    },
    /// `file:` without an absolute path after `//`.
    NotAbsolute,
    /// `memory:` with something after it.
    MemoryWithPath,
    /// The bucket is not fully named.
    #[cfg(feature = "s3")]
    Bucket(S3OpenError),
    /// The directory can't be made or opened.
    Directory {
        /// Which.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
}

impl fmt::Display for OpenStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedScheme { scheme: Some(scheme) } => {
                write!(f, "unsupported scheme `{scheme}`; this build knows {KNOWN}")
            }
            Self::UnsupportedScheme { scheme: None } => {
                write!(f, "a store URL begins with a scheme; this build knows {KNOWN}")
            }
            Self::NotAbsolute => f.write_str("a file URL needs an absolute path: file:///path"),
            Self::MemoryWithPath => f.write_str("`memory:` stands alone: a store in memory has no name"),
            #[cfg(feature = "s3")]
            Self::Bucket(error) => error.fmt(f),
            Self::Directory { path, cause } => write!(f, "can't open the directory {}: {cause}", path.display()),
        }
    }
}

impl std::error::Error for OpenStoreError {}
