//! What a user writes wrong is refused by the compiler, where it stands and with what to do.

#[test]
fn every_misuse_is_a_clear_compile_error() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
