//! The derives of `pilothouse`.
