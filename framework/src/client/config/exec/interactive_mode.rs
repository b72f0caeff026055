/// Whether a credential plugin may ask the person at the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InteractiveMode {
    /// Never. The plugin gets no standard input.
    Never,
    /// If standard input is a terminal.
    #[default]
    IfAvailable,
    /// Always. Without a terminal, the plugin is not started.
    Always,
}

impl InteractiveMode {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "Never" => Some(Self::Never),
            "IfAvailable" => Some(Self::IfAvailable),
            "Always" => Some(Self::Always),
            _ => None,
        }
    }
}
