{{/* The manifests are those of deploy/operator: a template reads one and changes what an installation may change. */}}

{{- define "dbop.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Puts the labels of Helm on an object, and it and its subjects into this release's namespace. */}}
{{- define "dbop.object" -}}
{{- $o := .object -}}
{{- $_ := set $o.metadata "labels" (merge (dict "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")) ($o.metadata.labels | default dict)) -}}
{{- if eq ($o.metadata.namespace | default "") "dbop-system" -}}
{{- $_ := set $o.metadata "namespace" .root.Release.Namespace -}}
{{- end -}}
{{- if and (eq $o.metadata.name "dbop-operator-definition") (ne .root.Release.Namespace "dbop-system") -}}
{{- $_ := set $o.metadata "name" (printf "dbop-operator-definition-%s" .root.Release.Namespace) -}}
{{- if $o.roleRef -}}
{{- $_ := set $o.roleRef "name" $o.metadata.name -}}
{{- end -}}
{{- end -}}
{{- range $o.subjects -}}
{{- if eq (.namespace | default "") "dbop-system" -}}
{{- $_ := set . "namespace" $.root.Release.Namespace -}}
{{- end -}}
{{- end -}}
---
{{ toYaml $o }}
{{ end -}}
