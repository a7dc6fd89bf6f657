//! Uploads of immutable objects in parts. A store without them refuses each of these as [`super::RefusalKind::Unsupported`];
//! the core then stores whole objects.
use super::{Key, PartTag, UploadId};
use crate::ids::TimestampMs;
use bytes::Bytes;

/// Begin the upload of an immutable object in parts. Nothing is to be seen under the key before it is completed. One
/// whose answer is lost leaves an upload that only a listing finds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateUpload {
    /// Where the object is to be.
    pub key: Key,
}

/// Answer to [`CreateUpload`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateUploadReply {
    /// Names the upload, together with its key.
    pub upload: UploadId,
}

/// Store one part; the same number again replaces it. An upload that is completed, aborted or unknown is
/// [`super::RefusalKind::NotFound`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UploadPart {
    /// The upload's key.
    pub key: Key,
    /// Which upload.
    pub upload: UploadId,
    /// Place among the parts: 1 to 10,000 (providers: S3's limit).
    pub number: u16,
    /// The part is the concatenation of these pieces; all parts but the last have the same length, at least 5 MiB.
    pub body: Vec<Bytes>,
}

/// Answer to [`UploadPart`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UploadPartReply {
    /// To be named by [`CompleteUpload`].
    pub tag: PartTag,
}

/// Make the parts an object if the key is free; else [`super::RefusalKind::Precondition`]. An upload that is completed,
/// aborted or unknown is [`super::RefusalKind::NotFound`]; after [`super::RefusalKind::Conflict`] the upload may be gone.
///
/// Some stores let several win, so safety never rests on this condition: keys of immutable objects are used once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompleteUpload {
    /// The upload's key.
    pub key: Key,
    /// Which upload.
    pub upload: UploadId,
    /// Tags of the parts 1, 2, 3 and so on.
    pub parts: Vec<PartTag>,
}

/// Throw an upload and its parts away; one that does not exist counts as thrown away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AbortUpload {
    /// The upload's key.
    pub key: Key,
    /// Which upload.
    pub upload: UploadId,
}

/// List the uploads below a prefix that are neither completed nor aborted, in ascending order of key; those of one key
/// in an order of the store's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListUploads {
    /// Text that the key of every listed upload begins with.
    pub prefix: Key,
    /// Only uploads after this one.
    pub after: Option<(Key, UploadId)>,
    /// At most this many rows; 1 to 1,000.
    pub limit: u16,
}

/// Answer to [`ListUploads`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListUploadsReply {
    /// In the order asked for.
    pub uploads: Vec<UploadMeta>,
    /// Whether uploads follow after the last row.
    pub more: bool,
}

/// One row of a listing of uploads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UploadMeta {
    /// Where the object is to be.
    pub key: Key,
    /// The upload's name.
    pub upload: UploadId,
    /// When it began, by the store's clock.
    pub begun: Option<TimestampMs>,
}
