# slim instead of alpine: the tests run on glibc and Debian 12. Alpine would save some 70 MB, but its musl has another DNS
# behaviour and needs other native packages.
FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No dependency needs its install script, so none is run.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY db ./db
COPY src ./src
COPY workers ./workers
COPY docs/client ./docs/client
ARG REVISION=unknown
RUN npm run build

FROM node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Without optional packages, among them optional peers such as TypeScript.
RUN npm ci --ignore-scripts --omit=dev --omit=optional

FROM node:26-bookworm-slim
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Outbound Messaging API" \
  org.opencontainers.image.description="API, worker, admin, migrate and CLI of the Outbound Messaging API" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
ENV NODE_ENV=production
WORKDIR /app
# The files belong to root, so that the process can't change its own code.
COPY package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
RUN ln -s /app/dist/src/cli/main.js /usr/local/bin/outbound
# The image's user "node", by number, because Kubernetes' runAsNonRoot can't check a name.
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
# The port that both API and worker have. Not /readyz: an API that is polled there waits at its end for a balancer to notice.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || 3002}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without npm, so that node itself gets the SIGTERM. Other processes: node --max-semi-space-size=64 dist/workers/main.js, dist/src/admin/main.js, dist/src/migrate.js. The CLI: outbound.
CMD ["node", "--max-semi-space-size=64", "dist/src/server.js"]
