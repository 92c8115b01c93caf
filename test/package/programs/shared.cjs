const root = require('resumable-bus')
const sse = require('resumable-bus/sse')
const web = require('resumable-bus/web')

import('./shared-check.mjs')
  .then(({ shared }) => shared(root, sse, web))
  .then((result) => console.log(JSON.stringify(result)))
