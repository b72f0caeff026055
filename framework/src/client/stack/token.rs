use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use http::HeaderValue;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::client::ConfigError;

/// A token is read again after this time. client-go reads it after a minute, less a margin.
const FRESH: Duration = Duration::from_secs(50);

/// A file with a bearer token, which is read again when it changes.
///
/// While one request reads the file, the others use the old token. If the file can no longer be read, the old token
/// stays in use.
pub(super) struct TokenFile {
    path: PathBuf,
    known: Mutex<Option<Known>>,
}

#[derive(Clone)]
struct Known {
    header: HeaderValue,
    /// `None` if the token is not from the file.
    read: Option<Instant>,
}

impl TokenFile {
    /// The token in the file at `path`, or `first` until the file can be read.
    pub(super) fn new(path: PathBuf, first: Option<HeaderValue>) -> Self {
        let first = first.map(|header| Known { header, read: None });
        Self {
            path,
            known: Mutex::new(first),
        }
    }

    pub(super) async fn header(&self) -> Result<HeaderValue, ConfigError> {
        let old = {
            let mut known = self.known.lock();
            match known.as_mut() {
                Some(known) if known.read.is_some_and(|read| read.elapsed() < FRESH) => {
                    return Ok(known.header.clone());
                }
                Some(stale) => {
                    // Set before the file is read, so that only this request reads it.
                    stale.read = Some(Instant::now());
                    Some(stale.header.clone())
                }
                None => None,
            }
        };
        match (self.read().await, old) {
            (Ok(header), _) => Ok(header),
            (Err(error), Some(old)) => {
                tracing::warn!("{error}: going on with the token read before");
                Ok(old)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// The token that the file holds now, if it is not `refused`.
    pub(super) async fn newer(&self, refused: &HeaderValue) -> Option<HeaderValue> {
        let header = self.read().await.ok()?;
        (header != refused).then_some(header)
    }

    async fn read(&self) -> Result<HeaderValue, ConfigError> {
        let header = read(&self.path).await?;
        *self.known.lock() = Some(Known {
            header: header.clone(),
            read: Some(Instant::now()),
        });
        Ok(header)
    }
}

async fn read(path: &Path) -> Result<HeaderValue, ConfigError> {
    let shown = path.display();
    let token = tokio::fs::read_to_string(path).await;
    let token = token.map_err(|error| {
        ConfigError::new(format!(
            "the token file {shown} cannot be read: {}",
            error.kind()
        ))
    })?;
    match token.trim() {
        "" => Err(ConfigError::new(format!("the token file {shown} is empty"))),
        token => bearer(token).ok_or_else(|| {
            ConfigError::new(format!(
                "the token file {shown} holds characters that no token has: it must hold nothing but the token"
            ))
        }),
    }
}

/// The header with `token`.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    sensitive(&format!("Bearer {token}"))
}

/// A header value that no `Debug` form shows.
pub(super) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, TokenFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, text).unwrap();
        (folder, TokenFile::new(path, None))
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_trimmed_and_an_old_one_is_read_again() {
        let (_folder, file) = file(" one\n");
        assert_eq!(file.header().await.unwrap(), "Bearer one");
        std::fs::write(&file.path, "two\n").unwrap();
        assert_eq!(file.header().await.unwrap(), "Bearer one");
        tokio::time::advance(FRESH).await;
        assert_eq!(file.header().await.unwrap(), "Bearer two");
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_file_leaves_the_old_token_in_use() {
        let (_folder, file) = file("one");
        file.header().await.unwrap();
        std::fs::remove_file(&file.path).unwrap();
        tokio::time::advance(FRESH).await;
        assert_eq!(file.header().await.unwrap(), "Bearer one");
    }

    #[tokio::test(start_paused = true)]
    async fn a_given_token_is_used_until_the_file_can_be_read() {
        let (_folder, file) = file("one");
        let late = TokenFile::new(file.path.with_extension("late"), bearer("given"));
        assert_eq!(late.header().await.unwrap(), "Bearer given");
        std::fs::write(&late.path, "late").unwrap();
        tokio::time::advance(FRESH).await;
        assert_eq!(late.header().await.unwrap(), "Bearer late");
        let file = TokenFile::new(file.path, bearer("given"));
        assert_eq!(file.header().await.unwrap(), "Bearer one");
    }

    #[tokio::test]
    async fn a_refused_token_is_replaced_only_by_a_different_one() {
        let (_folder, file) = file("one");
        let one = file.header().await.unwrap();
        assert_eq!(file.newer(&one).await, None);
        std::fs::write(&file.path, "two").unwrap();
        assert_eq!(file.newer(&one).await.unwrap(), "Bearer two");
    }

    #[tokio::test]
    async fn the_error_of_an_invalid_file_does_not_quote_it() {
        let (_folder, empty) = file("\n");
        let text = empty.header().await.unwrap_err().to_string();
        assert!(text.ends_with("/token is empty"), "{text}");
        let (_folder, odd) = file("hunter2\nhunter2");
        let text = odd.header().await.unwrap_err().to_string();
        assert!(
            !text.contains("hunter2") && text.contains("nothing but the token"),
            "{text}"
        );
        let text = TokenFile::new("/nowhere/token".into(), None)
            .header()
            .await
            .unwrap_err()
            .to_string();
        assert_eq!(
            text,
            "the token file /nowhere/token cannot be read: entity not found"
        );
    }
}
