//! Passwords that are generated once, and kept in Secrets.

use std::fmt::Write;

use pilothouse::{controller::Reconcilable, k8s::ByteString, prelude::*};

/// The key of the password in each Secret.
pub const PASSWORD: &str = "password";

/// The password in the Secret `name`, if it exists.
pub(crate) fn existing<K: Reconcilable>(cx: &Context<K>, name: &str) -> Result<Option<ByteString>> {
    let secret = cx.get::<Secret>(name)?;
    Ok(secret.and_then(|secret| secret.data.as_ref()?.get(PASSWORD).cloned()))
}

/// A new random password of 48 characters.
pub(crate) fn generate() -> Result<ByteString> {
    let mut random = [0; 24];
    getrandom::fill(&mut random)?;
    let mut text = String::new();
    for byte in random {
        write!(text, "{byte:02x}")?;
    }
    Ok(ByteString(text.into_bytes()))
}

/// A Secret with this user and this password.
pub(crate) fn secret(name: &str, user: &str, password: ByteString) -> Secret {
    let user = ByteString(user.as_bytes().to_vec());
    Secret {
        data: Some([("username".into(), user), (PASSWORD.into(), password)].into()),
        ..Secret::named(name)
    }
}
