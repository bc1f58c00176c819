# The decision service and its command line, in one static program. The builder
# must be a glibc one: musl gives threads stacks that PostgreSQL's parser overflows.
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/ cmd/
COPY config/ config/
COPY internal/ internal/
ARG VERSION=dev
RUN CGO_ENABLED=1 go build -trimpath -tags netgo,osusergo -buildvcs=false \
    -ldflags "-s -w -X main.version=${VERSION} -linkmode external -extldflags '-static'" \
    -o /hookpolicy ./cmd/hookpolicy

FROM ${BASE_IMAGE}
COPY --from=build /hookpolicy /hookpolicy
USER 65532:65532
ENTRYPOINT ["/hookpolicy"]
