# PATTERN SEQ(AND(C c, P{2,} p[], D d), B b)
# WHERE   skip_till_next_match { c.symbol = d.symbol AND d.symbol = b.symbol AND p[i].price > c.price
#                                AND b.volume > avg(p[].volume) }
# WITHIN  11 days
#
# skip_till_next_match; RS is the set of bound variables
# branch 0: 1 c, 2 p, 4 d, 8 b; all 15
# RI[:, 0]: length of p
# RI[:, 1]: first of b volume
# RI[:, 2]: first null of b volume
# RI[:, 3]: count of p p[i].volume
# RI[:, 4]: sum of p p[i].volume
# RI[:, 5]: first of d symbol
# RI[:, 6]: first of c symbol
# RF[:, 0]: first of c price


@kernel
def advance(i0, n, nums, time, rank, place, type_, part, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null, RS, RN, RT, RK, RX, RI, RF, FREE, P_head, P_live, NE, NP, NC, NT, NM, XN, XX, OUT, HT, HG, WALK):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    room = min(free, NE.shape[0] - nodes, XN.shape[0] - edges, OUT.shape[0] - found)
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        fit_0 = (type_[i] == 0)  # c
        fit_1 = (type_[i] == 1)  # p
        fit_2 = (type_[i] == 2)  # d
        fit_3 = (type_[i] == 3)  # b
        if not (fit_0 or fit_1 or fit_2 or fit_3):  # it fits nothing
            continue
        need = 1 * P_live[g] + 4
        room -= need
        if room < 0:
            room = min(free, NE.shape[0] - nodes, XN.shape[0] - edges, OUT.shape[0] - found) - need
            if room < 0 or stopped(nums):
                nums[0] = nodes
                nums[1] = edges
                nums[2] = free
                nums[3] = found
                nums[4] = runs
                nums[5] = stamp
                return i  # the caller makes room and comes back
        t = time[i]
        k = rank[i]
        live = 0
        r = P_head[g]
        P_head[g] = -1
        while r >= 0:
            after = RX[r]
            m = RS[r]
            if t - RT[r] > 950400000:  # WITHIN: it can take nothing more
                if m == 15 and RI[r, 0] >= 2:
                    done = True
                    done = done and (to_float(RI[r, 1], (RI[r, 2] != 0)) > divide(float(RI[r, 4]), float(RI[r, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                    if done:  # a match
                        OUT[found] = RN[r]
                        found += 1
                FREE[free] = r
                free += 1
                runs -= 1
            elif m >> 40 == 0:
                moved = 0
                late = 0 if k > RK[r] else tied(RN[r], 0, k, rank, NE, NP, NC)  # concurrent with the event
                if fit_0:  # c
                    if m & 1 == 0:
                        ok = True
                        if ok and m & 4 == 4:
                            ok = ok and (c1_symbol[i] == RI[r, 5] and c1_symbol[i] >= 0 and RI[r, 5] >= 0)  # c.symbol = d.symbol   (query 2:32)
                        if ok and m & 2 == 2:
                            if ok:  # p[i].price > c.price   (query 2:80)
                                n_v1_p = gather(RN[r], 1, NE, NP, NC, WALK[0])
                                for k_v1_p in range(0, n_v1_p):
                                    if not (c0_price[WALK[0, k_v1_p]] > c0_price[i]):
                                        ok = False
                                        break
                        if ok:
                            q = r
                            RI[q, 6] = c1_symbol[i]
                            RF[q, 0] = c0_price[i]
                            s = m | 1
                            RS[q] = s
                            RK[q] = k
                            node = natural(nodes)
                            nodes = node + 1
                            NE[node] = i
                            NP[node] = RN[q]
                            NC[node] = 0
                            NT[node] = RT[q]
                            NM[node] = -1
                            RN[q] = node
                            RX[q] = P_head[g]
                            P_head[g] = q
                            live += 1
                            moved = -1
                elif fit_1:  # p
                    if m & 2 == 0:  # its first event
                        ok = True
                        if ok and m & 1 == 1:
                            ok = ok and (c0_price[i] > RF[r, 0])  # p[i].price > c.price   (query 2:80)
                        if ok:
                            q = r
                            RI[q, 0] = 1
                            if not (c2_volume_null[i] != 0):
                                x = c2_volume[i]
                                RI[q, 3] += 1
                                RI[q, 4] += x
                            s = m | 2
                            RS[q] = s
                            RK[q] = k
                            node = natural(nodes)
                            nodes = node + 1
                            NE[node] = i
                            NP[node] = RN[q]
                            NC[node] = 1
                            NT[node] = RT[q]
                            NM[node] = -1
                            RN[q] = node
                            RX[q] = P_head[g]
                            P_head[g] = q
                            live += 1
                            moved = -1
                    else:  # one more
                        ok = m & 8 == 0 and late & 2 == 0
                        if ok and m & 1 == 1:
                            ok = ok and (c0_price[i] > RF[r, 0])  # p[i].price > c.price   (query 2:80)
                        if ok:
                            q = r
                            RI[q, 0] += 1
                            if not (c2_volume_null[i] != 0):
                                x = c2_volume[i]
                                RI[q, 3] += 1
                                RI[q, 4] += x
                            s = m | 2
                            RS[q] = s
                            RK[q] = k
                            node = natural(nodes)
                            nodes = node + 1
                            NE[node] = i
                            NP[node] = RN[q]
                            NC[node] = 1
                            NT[node] = RT[q]
                            NM[node] = -1
                            RN[q] = node
                            RX[q] = P_head[g]
                            P_head[g] = q
                            live += 1
                            moved = -1
                elif fit_2:  # d
                    if m & 4 == 0:
                        ok = True
                        if ok and m & 1 == 1:
                            ok = ok and (RI[r, 6] == c1_symbol[i] and RI[r, 6] >= 0 and c1_symbol[i] >= 0)  # c.symbol = d.symbol   (query 2:32)
                        if ok:
                            q = r
                            RI[q, 5] = c1_symbol[i]
                            s = m | 4
                            RS[q] = s
                            RK[q] = k
                            node = natural(nodes)
                            nodes = node + 1
                            NE[node] = i
                            NP[node] = RN[q]
                            NC[node] = 2
                            NT[node] = RT[q]
                            NM[node] = -1
                            RN[q] = node
                            RX[q] = P_head[g]
                            P_head[g] = q
                            live += 1
                            moved = -1
                elif fit_3:  # b
                    if m & 8 == 0:
                        ok = m & 7 == 7 and late & 7 == 0 and RI[r, 0] >= 2
                        if ok:
                            ok = ok and (RI[r, 5] == c1_symbol[i] and RI[r, 5] >= 0 and c1_symbol[i] >= 0)  # d.symbol = b.symbol   (query 2:56)
                        if ok and (m & 8 != 0):
                            ok = ok and (to_float(c2_volume[i], (c2_volume_null[i] != 0)) > divide(float(RI[r, 4]), float(RI[r, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                        if ok:
                            ok = ok and (RI[r, 6] == c1_symbol[i] and RI[r, 6] >= 0 and c1_symbol[i] >= 0)  # c.symbol = b.symbol   (query 2:32)
                        if ok:
                            free -= 1
                            q = FREE[free]
                            runs += 1
                            RI[q, 0] = RI[r, 0]
                            RI[q, 1] = RI[r, 1]
                            RI[q, 2] = RI[r, 2]
                            RI[q, 3] = RI[r, 3]
                            RI[q, 4] = RI[r, 4]
                            RI[q, 5] = RI[r, 5]
                            RI[q, 6] = RI[r, 6]
                            RF[q, 0] = RF[r, 0]
                            RN[q] = RN[r]
                            RT[q] = RT[r]
                            RI[q, 1] = c2_volume[i]
                            RI[q, 2] = int(c2_volume_null[i] != 0)
                            s = m | 8
                            RS[q] = s
                            RK[q] = k
                            node = natural(nodes)
                            nodes = node + 1
                            NE[node] = i
                            NP[node] = RN[q]
                            NC[node] = 3
                            NT[node] = RT[q]
                            NM[node] = -1
                            RN[q] = node
                            done = True
                            if done and s & 10 == 10 and (not (m & 8 != 0)) and (s & 8 != 0):
                                done = done and (to_float(RI[q, 1], (RI[q, 2] != 0)) > divide(float(RI[q, 4]), float(RI[q, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                            if done:
                                RX[q] = P_head[g]
                                P_head[g] = q
                                live += 1
                                moved += 1
                            else:
                                FREE[free] = q
                                free += 1
                                runs -= 1
                if moved == 0:
                    RX[r] = P_head[g]
                    P_head[g] = r
                    live += 1
                elif moved > 0:
                    FREE[free] = r
                    free += 1
                    runs -= 1
            r = after
        ok = fit_0  # start with c
        if ok:
            free -= 1
            q = FREE[free]
            runs += 1
            RI[q, 0] = 0
            RI[q, 1] = 0
            RI[q, 2] = 0
            RI[q, 3] = 0
            RI[q, 4] = 0
            RI[q, 5] = 0
            RI[q, 6] = 0
            RF[q, 0] = 0
            RN[q] = -1
            RT[q] = t
            RI[q, 6] = c1_symbol[i]
            RF[q, 0] = c0_price[i]
            s = 1
            RS[q] = s
            RK[q] = k
            node = natural(nodes)
            nodes = node + 1
            NE[node] = i
            NP[node] = RN[q]
            NC[node] = 0
            NT[node] = RT[q]
            NM[node] = -1
            RN[q] = node
            RX[q] = P_head[g]
            P_head[g] = q
            live += 1
        ok = fit_1  # start with p
        if ok:
            free -= 1
            q = FREE[free]
            runs += 1
            RI[q, 0] = 0
            RI[q, 1] = 0
            RI[q, 2] = 0
            RI[q, 3] = 0
            RI[q, 4] = 0
            RI[q, 5] = 0
            RI[q, 6] = 0
            RF[q, 0] = 0
            RN[q] = -1
            RT[q] = t
            RI[q, 0] = 1
            if not (c2_volume_null[i] != 0):
                x = c2_volume[i]
                RI[q, 3] += 1
                RI[q, 4] += x
            s = 2
            RS[q] = s
            RK[q] = k
            node = natural(nodes)
            nodes = node + 1
            NE[node] = i
            NP[node] = RN[q]
            NC[node] = 1
            NT[node] = RT[q]
            NM[node] = -1
            RN[q] = node
            RX[q] = P_head[g]
            P_head[g] = q
            live += 1
        ok = fit_2  # start with d
        if ok:
            free -= 1
            q = FREE[free]
            runs += 1
            RI[q, 0] = 0
            RI[q, 1] = 0
            RI[q, 2] = 0
            RI[q, 3] = 0
            RI[q, 4] = 0
            RI[q, 5] = 0
            RI[q, 6] = 0
            RF[q, 0] = 0
            RN[q] = -1
            RT[q] = t
            RI[q, 5] = c1_symbol[i]
            s = 4
            RS[q] = s
            RK[q] = k
            node = natural(nodes)
            nodes = node + 1
            NE[node] = i
            NP[node] = RN[q]
            NC[node] = 2
            NT[node] = RT[q]
            NM[node] = -1
            RN[q] = node
            RX[q] = P_head[g]
            P_head[g] = q
            live += 1
        P_live[g] = live
    nums[0] = nodes
    nums[1] = edges
    nums[2] = free
    nums[3] = found
    nums[4] = runs
    nums[5] = stamp
    return n


@kernel
def flush(now, every, listing, COUNT, nums, time, rank, place, type_, part, string_rank, c1_symbol, c0_price, c2_volume, c2_volume_null, RS, RN, RT, RK, RX, RI, RF, FREE, P_head, P_live, NE, NP, NC, NT, NM, XN, XX, OUT, HT, HG, WALK):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    for g in range(P_head.shape[0]):
        live = 0
        r = P_head[g]
        P_head[g] = -1
        while r >= 0:
            after = RX[r]
            m = RS[r]
            over = every != 0 or now - RT[r] > 950400000
            if over or listing != 0:
                if m == 15 and RI[r, 0] >= 2:
                    done = True
                    done = done and (to_float(RI[r, 1], (RI[r, 2] != 0)) > divide(float(RI[r, 4]), float(RI[r, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                    if done:  # a match
                        OUT[found] = RN[r]
                        found += 1
            if over and listing == 0:
                FREE[free] = r
                free += 1
                runs -= 1
            else:
                RX[r] = P_head[g]
                P_head[g] = r
                live += 1
            r = after
        P_live[g] = live
    nums[0] = nodes
    nums[1] = edges
    nums[2] = free
    nums[3] = found
    nums[4] = runs
    nums[5] = stamp
