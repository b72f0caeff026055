//! The website operator.
fn main() {}
