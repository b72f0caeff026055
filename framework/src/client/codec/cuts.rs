use std::ops::Range;

/// Changes of the bytes of an object, in their order. They do not overlap.
#[derive(Default)]
pub(crate) struct Cuts([Cut; 2]);

/// What is cut out of the bytes, and what takes its place.
#[derive(Default)]
struct Cut {
    range: Range<usize>,
    filling: [u8; 10],
    length: usize,
}

impl Cuts {
    /// A filling of more than ten bytes is cut off.
    pub(super) fn new(cuts: [(Range<usize>, &[u8]); 2]) -> Self {
        Self(cuts.map(|(range, filling)| {
            let mut cut = Cut {
                range,
                ..Cut::default()
            };
            cut.length = filling.len().min(cut.filling.len());
            cut.filling
                .iter_mut()
                .zip(filling)
                .for_each(|(to, from)| *to = *from);
            cut
        }))
    }

    /// The bytes after the cuts.
    pub(crate) fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut cut_bytes = Vec::with_capacity(self.shifted(bytes.len()));
        let mut at = 0;
        for cut in &self.0 {
            cut_bytes.extend_from_slice(bytes.get(at..cut.range.start).unwrap_or_default());
            cut_bytes.extend_from_slice(cut.filling.get(..cut.length).unwrap_or_default());
            at = at.max(cut.range.end);
        }
        cut_bytes.extend_from_slice(bytes.get(at..).unwrap_or_default());
        cut_bytes
    }

    /// Where the byte at `at` lies after the cuts. The byte must not lie in one.
    pub(crate) fn shifted(&self, at: usize) -> usize {
        let before = self.0.iter().filter(|cut| at >= cut.range.end);
        before.fold(at, |at, cut| at - cut.range.len() + cut.length)
    }
}
