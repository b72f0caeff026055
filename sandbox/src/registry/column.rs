/// One column of the table output: an entry of `additionalPrinterColumns`.
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
    /// 0 is always shown, a higher priority only in wide output.
    pub priority: i32,
    /// The simple JSON path of the value: `.spec.replicas`.
    pub json_path: String,
}
