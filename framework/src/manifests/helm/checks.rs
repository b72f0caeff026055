use serde_json::{Value, json};

use super::chart::Chart;

/// The text of `templates/checks.yaml`, which makes no object. It refuses flags and variables on which the objects of the chart
/// depend: they would change the program, but neither its roles nor its probes.
pub(super) fn text(chart: &Chart<'_>, fields: &[(&'static str, Value)]) -> String {
    let env = fields.iter().find(|(name, _)| *name == "env");
    let env = env.and_then(|(_, value)| value.as_array());
    // The program itself may set one of them.
    let is_set = |variable: &str| {
        let mut all = env.into_iter().flatten();
        all.any(|one| one["name"] == variable)
    };
    let pairs = chart.fixed_settings.iter().map(|(flag, variable)| {
        let variable = if is_set(variable) { "" } else { variable };
        format!(" {} {}", json!(flag), json!(variable))
    });
    TEMPLATE
        .replace("OPERATOR", chart.name)
        .replace("PAIRS", &pairs.collect::<String>())
}

const TEMPLATE: &str = r#"{{- /* Refuses flags and variables on which the objects of this chart depend. */}}
{{- range $flag, $variable := dictPAIRS }}
{{- $advice := printf "make the chart anew with `OPERATOR manifests --%s=… --output helm …`" $flag }}
{{- if eq $flag "namespace" }}
{{- $advice = "set the value `namespaces` instead" }}
{{- else if eq $flag "config" }}
{{- $advice = "write the settings of the file as flags" }}
{{- end }}
{{- range $.Values.extraArgs }}
{{- if or (eq . (printf "--%s" $flag)) (hasPrefix (printf "--%s=" $flag) .) (and (eq $flag "namespace") (hasPrefix "-n" .)) }}
{{- fail (printf "extraArgs: the objects of the chart depend on --%s: %s" $flag $advice) }}
{{- end }}
{{- end }}
{{- range $.Values.env }}
{{- if eq .name $variable }}
{{- fail (printf "env: the objects of the chart depend on %s: %s" $variable $advice) }}
{{- end }}
{{- end }}
{{- end }}
"#;
