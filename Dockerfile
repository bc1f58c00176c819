# Both programs, static: the decision service with its command line, and the
# manager. The builder must be a glibc one: musl gives threads stacks that
# PostgreSQL's parser overflows.
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/ cmd/
COPY config/ config/
COPY controllers/ controllers/
COPY internal/ internal/
ARG VERSION=dev
RUN CGO_ENABLED=1 go build -trimpath -tags netgo,osusergo -buildvcs=false \
    -ldflags "-s -w -X main.version=${VERSION} -linkmode external -extldflags '-static'" \
    -o /hookpolicy ./cmd/hookpolicy
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /manager ./cmd/manager

FROM ${BASE_IMAGE}
COPY --from=build /hookpolicy /manager /
USER 65532:65532
ENTRYPOINT ["/hookpolicy"]
