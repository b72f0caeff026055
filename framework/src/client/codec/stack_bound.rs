use std::ptr;

/// Bounds the stack that a reader takes for a type which contains itself.
///
/// The depth of a document is bounded, but not what a type takes for each level: in a debug build that may be 30 KB. A
/// thread of a runtime has 2 MiB.
#[derive(Clone, Copy)]
pub(super) struct StackBound {
    /// Where the stack was when the reader began.
    start: usize,
}

impl StackBound {
    /// Half of what a thread of a runtime has.
    const MOST: usize = 1 << 20;

    pub(super) fn new() -> Self {
        let here = 0_u8;
        Self {
            start: ptr::from_ref(&here).addr(),
        }
    }

    /// Whether the reader has taken all that it may take.
    pub(super) fn is_reached(self) -> bool {
        let here = 0_u8;
        ptr::from_ref(&here).addr().abs_diff(self.start) > Self::MOST
    }
}
