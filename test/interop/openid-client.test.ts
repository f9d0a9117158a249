import express from 'express'
import { describeOpenidClient } from '../support/stock-client-openid-client.ts'

test('this file has Express 5', () => expect('query' in express).toBe(false))

describeOpenidClient('Express 5')
