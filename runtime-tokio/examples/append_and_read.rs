//! Appends a few records to a log in a local directory and reads them back:
//! `cargo run -p bucketlog-tokio --example append_and_read -- /tmp/my-log`
use bucketlog_tokio::{Log, Lsn, Partition, ReaderOptions, Record, StreamId, WriterOptions, now};
use futures_util::TryStreamExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: append_and_read DIRECTORY")?;
    let log = Log::open_dir(path, StreamId::new("example")?)?;
    let mut writer = log.writer(Partition(0), WriterOptions::default()).await?;
    for n in 0..3 {
        writer.append(Record::new(now(), format!("record {n}"))).await?;
    }
    println!("durable below LSN {}", writer.close().await?);

    let reader = log.reader(Partition(0), ReaderOptions::default())?;
    let mut records = reader.records(Lsn(0));
    while let Some((lsn, record)) = records.try_next().await? {
        println!("{lsn} {}", String::from_utf8_lossy(&record.value));
    }
    log.shutdown().await;
    Ok(())
}
