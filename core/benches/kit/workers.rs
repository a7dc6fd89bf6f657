//! Two threads at the work of one batch.
use super::batch::{Batch, Encoding, assembler};
use bucketlog_core::boundary::EncodeBlock;
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::segment::{BlockCodec, EncodedSegment, RawBlock, SealedBlock, SegmentAssembler};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use zstd::bulk::Compressor;

/// Gives every index below `count` to one of two threads; each begins with a state of its own.
fn share_out<S: Send>(count: usize, states: &mut [S; 2], work: impl Fn(&mut S, usize) + Sync) {
    let next = AtomicUsize::new(0);
    let run = |state: &mut S| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            work(state, index);
        }
    };
    let [first, second] = states;
    #[allow(clippy::disallowed_methods, reason = "this is about threads; the lint exists only in the core")]
    std::thread::scope(|scope| {
        scope.spawn(|| run(second));
        run(first);
    });
}

/// Two independent libzstd contexts on ready blocks, into buffers that are used again and again.
pub fn compress(states: &mut [(Compressor<'static>, Vec<u8>); 2], blocks: &[RawBlock]) {
    share_out(blocks.len(), states, |(compressor, buffer), index| {
        buffer.clear();
        compressor.compress_to_buffer(&blocks[index].bytes, buffer).expect("room for the bound");
    });
}

/// Records to an object by two threads, as the driver's pool does it: blocks are built in order and encoded in any, and
/// whoever completes the next block of the segment lays it out.
pub fn encode(states: &mut [BlockCodec; 2], batch: &Batch, blocks: &[Range<usize>], how: Encoding) -> EncodedSegment {
    let layout = Mutex::new(Layout { assembler: assembler(how.codec), next: 0, waiting: BTreeMap::new() });
    share_out(blocks.len(), states, |codec, index| {
        let block = batch.build(&blocks[index], how.block_bytes);
        let encode = EncodeBlock { block, codec: how.codec, level: how.level, hash: HashAlgo::Xxh64 };
        let sealed = encode.run(codec).expect("a valid block");
        layout.lock().expect("no thread panicked").put(index, sealed);
    });
    layout.into_inner().expect("no thread panicked").assembler.finish().expect("a segment with blocks")
}

struct Layout {
    assembler: SegmentAssembler,
    next: usize,
    waiting: BTreeMap<usize, SealedBlock>,
}

impl Layout {
    fn put(&mut self, index: usize, block: SealedBlock) {
        self.waiting.insert(index, block);
        while let Some(block) = self.waiting.remove(&self.next) {
            self.assembler.push(&block).expect("blocks in order");
            self.next += 1;
        }
    }
}
