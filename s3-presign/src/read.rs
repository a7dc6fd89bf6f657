//! `GET` and `HEAD` of one object.
use crate::classify::{self, Operation, unusable};
use crate::{Bucket, Exchange, HttpAnswer, HttpRequest, SigningKeys};
use bucketlog_core::boundary::{ByteRange, Fault, Get, GetReply, ObjectMeta, RefusalKind, Stat, StatReply, Version};
use bucketlog_core::ids::TimestampMs;
use rusty_s3::actions::{GetObject, HeadObject};
use std::ops::Range;

impl Exchange for Get {
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let object = bucket.object(&self.key);
        let action = GetObject::new(&bucket.inner, keys.map(|keys| &keys.0), &object);
        let mut request = HttpRequest::new(&action, bucket, at);
        request.max_answer = self.max_len;
        for (name, value) in [
            ("range", range_header(self.range)),
            ("if-match", self.if_match.as_ref().map(Version::to_string)),
            ("if-none-match", self.if_none_match.as_ref().map(Version::to_string)),
        ] {
            request = match value {
                Some(value) => request.with(name, value),
                None => request,
            };
        }
        request
    }

    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<GetReply, Fault> {
        match answer.status {
            304 if self.if_none_match.is_some() => Ok(GetReply::NotModified),
            200 | 206 if answer.too_long => {
                Err(Fault::refused(RefusalKind::Invalid, format!("the body is longer than {} bytes", self.max_len)))
            }
            200 => whole(self.range, answer),
            206 => part(self.range, answer),
            _ => Err(classify::fault(Operation::Read, answer)),
        }
    }
}

/// The object came whole; a store may ignore ranges.
fn whole(range: ByteRange, answer: &HttpAnswer) -> Result<GetReply, Fault> {
    let size = answer.body.len() as u64;
    if answer.content_length().is_some_and(|told| told != size) {
        return Err(unusable(answer, "the body is not as long as its header says"));
    }
    let wanted = wanted(range, size).ok_or_else(|| nothing_there(size))?;
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(answer.body.len());
    let body = answer.body.slice(place(wanted.start)..place(wanted.end));
    Ok(GetReply::Found { body, version: answer.version(), total_size: size })
}

fn part(asked: ByteRange, answer: &HttpAnswer) -> Result<GetReply, Fault> {
    let told = answer.header("content-range").and_then(content_range);
    let Some((range, total_size)) = told else {
        return Err(unusable(answer, "a part of an object came without saying which"));
    };
    let length = range.end.saturating_sub(range.start);
    if wanted(asked, total_size).as_ref() != Some(&range) || length != answer.body.len() as u64 {
        return Err(unusable(answer, "another part of the object came than was asked for"));
    }
    Ok(GetReply::Found { body: answer.body.clone(), version: answer.version(), total_size })
}

fn nothing_there(size: u64) -> Fault {
    Fault::refused(RefusalKind::Invalid, format!("the range lies past the object's {size} bytes"))
}

fn range_header(range: ByteRange) -> Option<String> {
    match range {
        ByteRange::All => None,
        ByteRange::FromTo(from, to) => Some(format!("bytes={from}-{}", to.saturating_sub(1))),
        ByteRange::Suffix(n) => Some(format!("bytes=-{n}")),
    }
}

/// The bytes that a range means in an object of this size; `None` if there are none.
fn wanted(range: ByteRange, size: u64) -> Option<Range<u64>> {
    match range {
        ByteRange::All => Some(0..size),
        ByteRange::FromTo(from, to) => Some(from..to.min(size)).filter(|range| !range.is_empty()),
        ByteRange::Suffix(n) => Some(size.saturating_sub(n)..size).filter(|range| !range.is_empty()),
    }
}

/// `bytes 0-9/100`: the range, and the whole object's size.
fn content_range(text: &str) -> Option<(Range<u64>, u64)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    Some((first..last.checked_add(1)?, total.trim().parse().ok()?))
}

impl Exchange for Stat {
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let object = bucket.object(&self.key);
        HttpRequest::new(&HeadObject::new(&bucket.inner, keys.map(|keys| &keys.0), &object), bucket, at)
    }

    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<StatReply, Fault> {
        if answer.status != 200 {
            return Err(classify::fault(Operation::Read, answer));
        }
        let size = answer.content_length().ok_or_else(|| unusable(answer, "the answer tells no size"))?;
        let (version, modified) = (answer.version(), answer.time("last-modified"));
        Ok(StatReply { meta: ObjectMeta { key: self.key.clone(), size, version, modified } })
    }
}
