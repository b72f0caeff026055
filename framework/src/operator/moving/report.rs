use std::io::Write;

use crate::{operator::OperatorError, resource::ApiResource};

/// Where a command writes what it does, line by line.
pub(in crate::operator) struct Report<'a>(&'a mut (dyn Write + Send));

impl<'a> Report<'a> {
    pub(in crate::operator) fn new(output: &'a mut (dyn Write + Send)) -> Self {
        Self(output)
    }

    pub(in crate::operator) fn line(&mut self, text: impl AsRef<str>) -> Result<(), OperatorError> {
        writeln!(self.0, "{}", text.as_ref())
            .and_then(|()| self.0.flush())
            .map_err(OperatorError::Output)
    }

    pub(super) fn not_served(&mut self, resource: &ApiResource) -> Result<(), OperatorError> {
        self.line(format!("The cluster does not serve {resource}: skipped."))
    }

    /// Prints rows in columns. The first row is the heading.
    pub(super) fn table(&mut self, rows: &[[String; 3]]) -> Result<(), OperatorError> {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or_default()
        };
        let (first, second) = (width(0), width(1));
        for [one, two, three] in rows {
            self.line(format!("{one:first$}  {two:second$}  {three}"))?;
        }
        Ok(())
    }
}
