//! Misuse that does not compile: each error points at the wrong code and says what to do.

#[test]
#[ignore = "checks the framework and its dependencies a second time; .ci/run runs it"]
fn every_misuse_gives_a_compile_error_that_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
