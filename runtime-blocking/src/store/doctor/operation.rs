//! Each operation once, to know which ones these credentials may use on this store.
use super::Verdict;
use crate::store::Store;
use bucketlog_core::boundary::{self as request, ByteRange, Fault, Key, RefusalKind, SwapCondition};
use bytes::Bytes;
use std::time::{Duration, Instant};

/// What a store is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Create,
    Swap,
    Get,
    Stat,
    List,
    Delete,
    DeleteMany,
    Upload,
    ListUploads,
}

impl Operation {
    /// In an order in which one finds what those before it wrote.
    const ALL: [Self; 9] = [
        Self::Create,
        Self::Swap,
        Self::Get,
        Self::Stat,
        Self::List,
        Self::Delete,
        Self::DeleteMany,
        Self::Upload,
        Self::ListUploads,
    ];

    /// The permission it takes, as S3 names it.
    fn permission(self) -> &'static str {
        match self {
            Self::Create => "s3:PutObject",
            Self::Swap => "s3:PutObject and s3:GetObject",
            Self::Get | Self::Stat => "s3:GetObject, and s3:ListBucket to tell missing objects from forbidden ones",
            Self::List => "s3:ListBucket",
            Self::Delete | Self::DeleteMany => "s3:DeleteObject",
            Self::Upload => "s3:PutObject and s3:AbortMultipartUpload",
            Self::ListUploads => "s3:ListBucketMultipartUploads",
        }
    }

    fn try_on(self, store: &dyn Store, prefix: &str) -> Result<(), Fault> {
        let key = Key::from(format!("{prefix}/trial"));
        let until = Instant::now() + Duration::from_secs(30);
        let body = Bytes::from_static(b"trial");
        match self {
            Self::Create => store.create(&request::Create { key, body: vec![body] }, until).map(drop),
            Self::Swap => {
                let key = Key::from(format!("{prefix}/trial-swap"));
                store.swap(&request::Swap { key, body, condition: SwapCondition::Absent }, until).map(drop)
            }
            Self::Get => store.get(&request::Get::new(key, ByteRange::All, 1_000), until).map(drop),
            Self::Stat => store.stat(&request::Stat { key }, until).map(drop),
            Self::List => {
                store.list(&request::List { prefix: Key::from(prefix), after: None, limit: 10 }, until).map(drop)
            }
            Self::Delete => {
                store.delete(&request::Delete { key: Key::from(format!("{prefix}/trial-swap")) }, until)?;
                store.delete(&request::Delete { key }, until)
            }
            Self::DeleteMany => {
                let reply = store.delete_many(&request::DeleteMany { keys: vec![key] }, until)?;
                reply.outcomes.into_iter().collect()
            }
            Self::Upload => {
                let upload = store.create_upload(&request::CreateUpload { key: key.clone() }, until)?.upload;
                let (key, body) = (key.clone(), vec![body]);
                let part = request::UploadPart { key: key.clone(), upload: upload.clone(), number: 1, body };
                let sent = store.upload_part(&part, until).map(drop);
                // Whatever became of the part, nothing is left.
                let aborted = store.abort_upload(&request::AbortUpload { key, upload }, until);
                sent.and(aborted)
            }
            Self::ListUploads => {
                store
                    .list_uploads(&request::ListUploads { prefix: Key::from(prefix), after: None, limit: 10 }, until)?;
                Ok(())
            }
        }
    }
}

/// The operations that do not work at all.
pub(super) struct Trial(Vec<(Operation, Verdict)>);

impl Trial {
    pub(super) fn run(store: &dyn Store, prefix: &str) -> Self {
        let attempt = |operation: Operation| Some((operation, obstacle(operation, &operation.try_on(store, prefix))?));
        Self(Operation::ALL.into_iter().filter_map(attempt).collect())
    }

    /// Why an operation can't be examined: it does not work itself, or there are no scratch objects to try it on.
    pub(super) fn obstacle(&self, examined: Operation) -> Option<Verdict> {
        if let Some((_, verdict)) = self.0.iter().find(|(failed, _)| *failed == examined) {
            return Some(verdict.clone());
        }
        let scratch = [Operation::Create, Operation::Swap, Operation::Get];
        let (failed, verdict) = self.0.iter().find(|(failed, _)| scratch.contains(failed))?;
        Some(Verdict::NotTried(format!("there are no scratch objects without {failed:?}: {}", verdict.detail())))
    }
}

fn obstacle(operation: Operation, result: &Result<(), Fault>) -> Option<Verdict> {
    let fault = result.as_ref().err()?;
    let detail = fault.to_string();
    Some(match fault.refusal() {
        // What was to be read could not be written.
        Some(RefusalKind::NotFound) if matches!(operation, Operation::Get | Operation::Stat) => return None,
        Some(RefusalKind::Denied) => Verdict::Denied { permission: operation.permission(), detail },
        Some(RefusalKind::Unsupported) => Verdict::Unsupported(detail),
        _ => Verdict::Broken(format!("{operation:?} fails: {detail}")),
    })
}
