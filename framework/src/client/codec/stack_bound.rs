use std::ptr;

/// Limits the stack that a reader takes for a type which contains itself.
///
/// The depth of a document is limited, but not how much stack a type takes for each level: in a debug build that may be
/// 30 KB. A thread of a runtime has 2 MiB.
#[derive(Clone, Copy)]
pub(super) struct StackBound {
    /// The position of the stack when the reader began.
    start: usize,
}

impl StackBound {
    /// Half of the stack of a runtime's thread.
    const MOST: usize = 1 << 20;

    pub(super) fn new() -> Self {
        let here = 0_u8;
        Self {
            start: ptr::from_ref(&here).addr(),
        }
    }

    /// Whether the reader has used its share of the stack.
    pub(super) fn is_reached(self) -> bool {
        let here = 0_u8;
        ptr::from_ref(&here).addr().abs_diff(self.start) > Self::MOST
    }
}
