//! End-to-end suites over the framework and the sandbox.
