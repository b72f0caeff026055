//! What the tool wrote. Nothing here is written by hand but this file, and those with other endings.

/// `import`.
#[allow(dead_code, unreachable_pub)]
pub(crate) mod bookcase;
/// `add version`, from `before.txt`.
#[allow(dead_code, unreachable_pub)]
pub(crate) mod shelf;
