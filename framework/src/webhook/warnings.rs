/// Texts that the API server shows to the user beside its answer; kubectl prints each as `Warning: …`.
///
/// The API server cuts a text after 256 bytes, and all texts of a request after 4096 bytes.
///
/// ```
/// use pilothouse::webhook::Warnings;
///
/// let none = Warnings::none();
/// let one = Warnings::from("spec.html is empty");
/// let two = one.and("spec.replicas is 1, so an update interrupts the site");
/// # let _ = (none, two);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(pub(super) Vec<String>);

impl Warnings {
    /// No warning.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a warning.
    #[must_use]
    pub fn and(mut self, text: impl Into<String>) -> Self {
        self.0.push(text.into());
        self
    }

    /// The texts.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<S: Into<String>> From<S> for Warnings {
    fn from(text: S) -> Self {
        Self::none().and(text)
    }
}

impl<S: Into<String>> FromIterator<S> for Warnings {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        Self(texts.into_iter().map(Into::into).collect())
    }
}
