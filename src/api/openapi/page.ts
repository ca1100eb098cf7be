/** Relative addresses, so that the page works behind a proxy that adds a path. */
export const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Outbound Messaging API</title>
    <link rel="icon" href="docs/favicon-32x32.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <noscript>This page needs JavaScript. The document itself is <a href="openapi.json">openapi.json</a>.</noscript>
    <div id="docs"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/page.js" type="module"></script>
  </body>
</html>
`

/** "Try it out" calls the address that the page was loaded from, whatever the service's public address is. */
export const script = `const spec = await (await fetch('openapi.json')).json()
spec.servers = [{ url: new URL('.', location.href).href.replace(/\\/$/, '') }]
SwaggerUIBundle({ spec, dom_id: '#docs', deepLinking: true, tryItOutEnabled: true, validatorUrl: null })
`
