/// One column of the table output, as a CustomResourceDefinition's `additionalPrinterColumns` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// OpenAPI type: `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// OpenAPI format, or empty.
    pub format: String,
    /// Help text, or empty.
    pub description: String,
    /// 0 is always shown; a higher one only in wide output.
    pub priority: i32,
    /// Where the value stands, as a simple JSON path: `.spec.replicas`.
    pub json_path: String,
}
