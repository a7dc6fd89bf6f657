//! A log in a task of tokio: `cargo run -p bucketlog-blocking --example tokio`.
use bucketlog_blocking::{Log, LogOptions, Partition, ReaderOptions, Record, StreamId, WriterOptions};
use bucketlog_blocking::{now, store::Memory};
use std::error::Error;
use std::sync::Arc;

async fn append_and_read() -> Result<(), Box<dyn Error>> {
    let log = Log::open(Arc::new(Memory::new()), StreamId::new("orders")?, LogOptions::default());
    let mut writer = log.writer_async(Partition(0), WriterOptions::default()).await?;
    let lsn = writer.append_durable_async(Record::new(now(), "an order")).await?;

    let reader = log.reader(Partition(0), ReaderOptions::default())?;
    println!("record {lsn}: {:?}", reader.fetch_async(lsn).await?.value);
    writer.close_async().await?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().build()?.block_on(append_and_read())
}
