# slim rather than alpine: glibc and Debian 12 are what the tests run on; Alpine's musl would bring another libc, other
# DNS behaviour and other native packages for some 70 MB less.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No dependency needs its install script, so none is run.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY db ./db
COPY src ./src
COPY workers ./workers
RUN npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Optional is what packages can do without, and what npm keeps for a peer that would be welcome: TypeScript, for one.
RUN npm ci --ignore-scripts --omit=dev --omit=optional

FROM node:24-bookworm-slim
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Outbound Messaging API" \
  org.opencontainers.image.description="API, worker, admin, migrate and CLI of the Outbound Messaging API" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
ENV NODE_ENV=production
WORKDIR /app
# All of it belongs to root, so the process can't change what it runs.
COPY package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# The image's user "node", by number: Kubernetes' runAsNonRoot can't tell who a name is.
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
# The port that API and worker both have. Not /readyz: being asked that, an API waits for a balancer to notice its end.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || 3002}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without npm in front: node itself gets the SIGTERM. Others: node --max-semi-space-size=64 dist/workers/main.js, dist/src/admin/main.js, dist/src/migrate.js, dist/src/cli/main.js.
CMD ["node", "--max-semi-space-size=64", "dist/src/server.js"]
