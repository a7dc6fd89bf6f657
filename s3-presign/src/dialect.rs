//! What stores deviate in.

macro_rules! dialects { ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
    /// A kind of store that speaks S3.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Dialect { $($(#[$doc])* $variant,)* }

    impl Dialect {
        /// All of them.
        pub const ALL: &'static [Self] = &[$(Self::$variant),*];

        /// Stable name, as settings have it.
        #[must_use]
        pub fn name(self) -> &'static str {
            match self { $(Self::$variant => $name),* }
        }
    }
} }

dialects! {
    /// Amazon S3, and whatever does as it does.
    Aws = "aws";
    /// Cloudflare R2: one write a second for each key, then 429.
    R2 = "r2";
    /// MinIO.
    Minio = "minio";
    /// Ceph's gateway: compares `If-Match` without quotes, and answers 500 to some losers of a race.
    CephRgw = "ceph";
    /// SeaweedFS.
    SeaweedFs = "seaweedfs";
    /// Tigris: conditional writes, and the reads they rest on, ask for the leader's answer.
    Tigris = "tigris";
    /// DigitalOcean Spaces: Ceph's dialect.
    DigitalOcean = "digitalocean";
    /// Garage: takes conditional writes and ignores their conditions.
    Garage = "garage";
    /// Backblaze B2: has no conditional writes.
    B2 = "b2";
    /// Wasabi: documents no conditional writes.
    Wasabi = "wasabi";
    /// Alibaba OSS: has no conditional replacement.
    AlibabaOss = "oss";
    /// Google Cloud Storage through its S3 interface, whose conditions hold for reads only.
    Gcs = "gcs";
}

impl Dialect {
    /// The dialect of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dialect| dialect.name() == name)
    }

    /// The dialect that an endpoint's host is known for; AWS's for all others.
    #[must_use]
    pub fn of_host(host: &str) -> Self {
        const HOSTS: &[(&str, Dialect)] = &[
            ("amazonaws.com", Dialect::Aws),
            ("r2.cloudflarestorage.com", Dialect::R2),
            ("storage.tigris.dev", Dialect::Tigris),
            ("t3.storage.dev", Dialect::Tigris),
            ("t3.storageapi.dev", Dialect::Tigris),
            ("digitaloceanspaces.com", Dialect::DigitalOcean),
            ("backblazeb2.com", Dialect::B2),
            ("wasabisys.com", Dialect::Wasabi),
            ("aliyuncs.com", Dialect::AlibabaOss),
            ("storage.googleapis.com", Dialect::Gcs),
        ];
        let host = host.to_ascii_lowercase();
        let is_of = |domain: &str| host.strip_suffix(domain).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
        HOSTS.iter().find(|(domain, _)| is_of(domain)).map_or(Self::Aws, |(_, dialect)| *dialect)
    }

    /// Why no log may be kept there, and what to do instead; `None` for stores that are fit.
    #[must_use]
    pub fn objection(self) -> Option<&'static str> {
        match self {
            Self::Garage => Some(
                "Garage accepts conditional writes and ignores their conditions, so that two writers would overwrite each \
                 other: use another store",
            ),
            Self::B2 => Some("Backblaze B2 has no conditional writes: use another store"),
            Self::Wasabi => Some(
                "Wasabi documents no conditional writes: use another store, or name the dialect `aws` once \
                 `bucketlog doctor` has found it fit",
            ),
            Self::AlibabaOss => Some("Alibaba OSS can't replace an object under a condition: use another store"),
            Self::Gcs => Some(
                "Google Cloud Storage does not honour the conditions of writes through its S3 interface: it takes its own \
                 JSON interface, which this version does not speak",
            ),
            _ => None,
        }
    }

    /// Whether tokens in `If-Match` of writes go without their quotes.
    pub(crate) fn wants_bare_tags(self) -> bool {
        matches!(self, Self::CephRgw | Self::DigitalOcean)
    }

    /// A header that goes with every request.
    pub(crate) fn extra_header(self) -> Option<(&'static str, &'static str)> {
        (self == Self::Tigris).then_some(("x-tigris-consistent", "true"))
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;

    #[test]
    fn hosts_tell_their_dialect() {
        for (host, dialect) in [
            ("s3.eu-west-1.amazonaws.com", Dialect::Aws),
            ("account.r2.cloudflarestorage.com", Dialect::R2),
            ("FRA1.digitaloceanspaces.com", Dialect::DigitalOcean),
            ("storage.googleapis.com", Dialect::Gcs),
            ("notstorage.googleapis.com.example", Dialect::Aws),
            ("evilwasabisys.com", Dialect::Aws),
            ("127.0.0.1", Dialect::Aws),
        ] {
            assert_eq!(Dialect::of_host(host), dialect, "{host}");
        }
    }

    #[test]
    fn names_are_unique_and_lead_back() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::from_name(dialect.name()), Some(*dialect));
        }
    }

    #[test]
    fn b16_stores_that_lack_what_a_log_needs_are_refused_with_the_reason_and_advice() {
        for dialect in [Dialect::Garage, Dialect::B2, Dialect::Wasabi, Dialect::AlibabaOss, Dialect::Gcs] {
            let objection = dialect.objection().expect("refused");
            assert!(objection.contains("use another store") || objection.contains("JSON interface"), "{objection}");
        }
        assert_eq!(Dialect::Aws.objection(), None);
    }
}
