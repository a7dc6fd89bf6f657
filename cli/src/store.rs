//! From the command line to a log.
use crate::args::LogArgs;
use crate::failure::Failure;
use bucketlog_blocking::store::{Store, open_url};
use bucketlog_blocking::{Log, LogOptions, Prefixes};
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

/// Where objects lie unless `--store` says otherwise, in the working directory.
const DEFAULT: &str = "bucketlog-data";
const HELP: &str = "use --store s3://bucket/prefix, file:///directory, or the path of a directory";

/// The log that the options name. Only a command that writes makes a missing directory.
pub(crate) fn open_log(args: &LogArgs, may_create: bool) -> Result<Log, Failure> {
    let stream = args.stream.clone().ok_or_else(|| {
        Failure::usage("no stream is named", "add --stream ID, for example --stream orders, or set BUCKETLOG_STREAM")
    })?;
    let store = open(args, may_create)?;
    let prefixes = Prefixes { catalog: args.catalog_prefix.clone(), data_root: args.data_root.clone() };
    let options = LogOptions { prefixes, ..LogOptions::default() };
    Ok(Log::open(store, stream, options))
}

/// The store that the options name.
pub(crate) fn open(args: &LogArgs, may_create: bool) -> Result<Arc<dyn Store>, Failure> {
    let url = store_url(args)?;
    if url.starts_with("memory:") {
        let what = format!("the store {url} would be gone when this command ends, with everything in it");
        return Err(Failure::usage(what, HELP));
    }
    let directory = url.strip_prefix("file://").map(Path::new);
    if let Some(missing) = directory.filter(|directory| !may_create && !directory.is_dir()) {
        let what = format!("there is no store at {}", missing.display());
        return Err(Failure::new("store", what, "name another with --store, or append something first"));
    }
    open_url(&url).map_err(|error| Failure::new("store", format!("can't open the store {url}: {error}"), HELP))
}

/// The URL of the store that the options name.
pub(crate) fn store_url(args: &LogArgs) -> Result<String, Failure> {
    match args.store.as_deref() {
        None => directory_url(Path::new(DEFAULT)),
        Some(name) => url(name),
    }
}

/// A URL as it is; a path, also after `file:`, is made absolute.
fn url(name: &str) -> Result<String, Failure> {
    match name.split_once(':') {
        Some(("file", path)) => match path.strip_prefix("//") {
            // What stands there in a URL is a host, not the first folder of a path.
            Some(rest) if !rest.starts_with('/') => {
                Err(Failure::usage(format!("{name} has no absolute path: three slashes follow `file:`"), HELP))
            }
            Some(path) => directory_url(Path::new(path)),
            None => directory_url(Path::new(path)),
        },
        Some((scheme, _)) if !scheme.contains('/') => Ok(name.to_owned()),
        _ => directory_url(Path::new(name)),
    }
}

fn directory_url(path: &Path) -> Result<String, Failure> {
    let unusable = |why: String| Failure::usage(format!("can't use `{}` as a store: {why}", path.display()), HELP);
    let path: PathBuf = absolute(path).map_err(|error| unusable(error.to_string()))?;
    let text = path.to_str().ok_or_else(|| unusable("the path is not UTF-8".to_owned()))?;
    Ok(format!("file://{text}"))
}
