{{/* Names: short enough for every suffix and for labels. */}}
{{- define "hookpolicy.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "hookpolicy.fullname" -}}
{{- $name := include "hookpolicy.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "hookpolicy.manager" -}}
{{- include "hookpolicy.fullname" . }}-manager
{{- end -}}

{{/* Labels that never change: selectors are made of them. */}}
{{- define "hookpolicy.selector" -}}
app.kubernetes.io/name: {{ include "hookpolicy.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "hookpolicy.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "hookpolicy.labels" -}}
{{ include "hookpolicy.selector" . }}
{{ include "hookpolicy.commonLabels" . }}
{{- end -}}

{{- define "hookpolicy.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What every container of ours runs as: the restricted Pod Security level. */}}
{{- define "hookpolicy.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "hookpolicy.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* One call of the test: the context, the decision it must get, the SQL. */}}
{{- define "hookpolicy.test.container" -}}
{{- $ := index . 0 -}}
image: {{ include "hookpolicy.image" $ }}
imagePullPolicy: {{ $.Values.image.pullPolicy }}
args:
  - ask
  - --url=https://hookpolicy-{{ $.Values.decisionService.name }}.{{ $.Release.Namespace }}.svc
  - --token-file=/identity/token
  - --ca=/identity/ca.crt
  - --expect={{ index . 1 }}
  - --within=2m
  - db_query_sql
  - {{ dict "sql" (index . 2) | toJson | quote }}
resources:
  requests:
    cpu: 10m
    memory: 32Mi
  limits:
    memory: 128Mi
securityContext:
  {{- include "hookpolicy.containerSecurityContext" $ | nindent 2 }}
volumeMounts:
  - name: identity
    mountPath: /identity
    readOnly: true
{{- end -}}
