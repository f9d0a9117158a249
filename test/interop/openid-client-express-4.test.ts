import express from 'express'
import { describeOpenidClient } from './openid-client.ts'

// Latchkey and the host both import `express`, as in an app that has not moved to Express 5.
jest.mock('express', () => jest.requireActual('express-4'))

test('this file has Express 4', () => expect('query' in express).toBe(true))

describeOpenidClient('Express 4')
